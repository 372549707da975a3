/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead plan`: what would change at DNS providers because of DNSRecords. */
#pragma once

int cmd_plan(int argc, char **argv);
