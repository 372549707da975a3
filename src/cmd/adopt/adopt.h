/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead adopt`: hands record sets of others, such as external-dns's, over to DNSRecords. */
#pragma once

int cmd_adopt(int argc, char **argv);
