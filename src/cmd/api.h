/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead api`: runs the embedded API alone. */
#pragma once

int cmd_api(int argc, char **argv);
