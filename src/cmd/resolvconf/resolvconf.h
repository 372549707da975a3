/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead resolvconf`: the resolv.conf of the pods in manifests. */
#pragma once

int cmd_resolvconf(int argc, char **argv);
