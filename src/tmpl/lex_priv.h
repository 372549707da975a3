/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A template's text into tokens. */
#pragma once

#include "tmpl/tmpl_priv.h"

/* Cuts the whole text; the last token is TOK_EOF or TOK_ERROR. Messages come from the arena. */
void tmpl_lex(struct slice text, struct arena *arena, struct tokens *ret);
