/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead controller`: runs controllers against a Kubernetes API. */
#pragma once

int cmd_controller(int argc, char **argv);
