/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OpenShift's finalizer on the DNS object, and what happens when the object is deleted. */
#pragma once

#include "base/compiler.h"
#include "controller/dnsoperator/pass.h"

/* Adds the finalizer where the object needs one. 1: the object is gone or being deleted, and must not
 * get operands; its deletion starts another pass. */
MUST_CHECK int dnsoperator_finalizer_ensure(struct dnsoperator_pass *pass);
/* A pass over an object that is being deleted: deletes its operands, removes the finalizer, and
 * names in the status who else holds the object. */
MUST_CHECK int dnsoperator_terminate(struct dnsoperator_pass *pass);
