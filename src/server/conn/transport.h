/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The transports of DNS that a listener can have. */
#pragma once

enum transport {
	TRANSPORT_DNS,	 /* UDP and TCP */
	TRANSPORT_TLS,	 /* DNS over TLS; plain TCP where its blocks have no `tls` */
	TRANSPORT_HTTPS, /* DNS over HTTPS; plain HTTP likewise */
};
