/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead up`: runs the embedded API, controllers and the DNS server on one machine. */
#pragma once

int cmd_up(int argc, char **argv);
