/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Name servers for machines of Cluster API's vSphere provider (CAPV). It knows no name servers of
 * addresses: once all claims of a VSphereVM are bound it takes those of the VM's own devices. So they are
 * written there before the last of these claims is bound, where the device has none. */
#pragma once

#include "base/compiler.h"
#include "controller/controller.h"
#include "controller/ipam/records.h"

/* Before a claim is bound. If the key `capv` of the ConfigMap fairlead-ipam is "true", the claim belongs to a
 * VSphereVM and the VM's other claims of our pools have addresses, the empty name servers and search
 * domains of its devices are filled; also those of the VSphereMachine that CAPV copies them from. 0: the
 * claim may be bound. Negative: it may not, and is tried again; a refusal is reported on the claim. */
MUST_CHECK int ipam_fill_vsphere_vm(struct controller_ctx *ctx, const struct ipam_claim *claim);
