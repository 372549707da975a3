/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of CEL that CRDs' rules are written in here (x-kubernetes-validations).
 *
 * In it: self, oldSelf, literals, lists, maps, field selection, indexing, has(), the macros all,
 * exists, exists_one, filter and map, ?:, &&, ||, !, comparison, arithmetic, `in`, size,
 * startsWith, endsWith, contains, matches (with a literal pattern), and hasValue, value and orValue
 * of an optional oldSelf. Anything else is an error when the rule is read.
 *
 *	text --lex--> tokens --parse--> nodes --check--> expression --eval--> value
 *
 * Expressions are type-checked against the declared type of `self`, so a misspelt field is found
 * when the CRD is read. Evaluation costs about what the API server counts and stops at a limit. */
#pragma once

#include "cel/eval.h"
#include "cel/parse.h"
#include "cel/type.h"
#include "cel/value.h"
