/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead status`: checks the API, the DNS server and the conditions of objects. */
#pragma once

int cmd_status(int argc, char **argv);
