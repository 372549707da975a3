/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead dns`: runs the DNS server, with CoreDNS's flags. */
#pragma once

int cmd_dns(int argc, char **argv);
