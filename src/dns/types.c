/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mnemonics and numbers. A number is looked up by direct index, a mnemonic by binary search: the
 * lists below are sorted by mnemonic in byte order (a test checks it). */
#include "dns/types.h"

#include <string.h>

#include "base/err.h"

#define TYPES(X)            \
	X(1, "A")           \
	X(28, "AAAA")       \
	X(18, "AFSDB")      \
	X(260, "AMTRELAY")  \
	X(255, "ANY")       \
	X(42, "APL")        \
	X(34, "ATMA")       \
	X(258, "AVC")       \
	X(252, "AXFR")      \
	X(257, "CAA")       \
	X(60, "CDNSKEY")    \
	X(59, "CDS")        \
	X(37, "CERT")       \
	X(5, "CNAME")       \
	X(62, "CSYNC")      \
	X(49, "DHCID")      \
	X(39, "DNAME")      \
	X(48, "DNSKEY")     \
	X(43, "DS")         \
	X(31, "EID")        \
	X(108, "EUI48")     \
	X(109, "EUI64")     \
	X(102, "GID")       \
	X(27, "GPOS")       \
	X(13, "HINFO")      \
	X(55, "HIP")        \
	X(65, "HTTPS")      \
	X(45, "IPSECKEY")   \
	X(20, "ISDN")       \
	X(251, "IXFR")      \
	X(25, "KEY")        \
	X(36, "KX")         \
	X(105, "L32")       \
	X(106, "L64")       \
	X(29, "LOC")        \
	X(107, "LP")        \
	X(254, "MAILA")     \
	X(253, "MAILB")     \
	X(7, "MB")          \
	X(3, "MD")          \
	X(4, "MF")          \
	X(8, "MG")          \
	X(14, "MINFO")      \
	X(9, "MR")          \
	X(15, "MX")         \
	X(35, "NAPTR")      \
	X(104, "NID")       \
	X(32, "NIMLOC")     \
	X(56, "NINFO")      \
	X(2, "NS")          \
	X(23, "NSAP-PTR")   \
	X(47, "NSEC")       \
	X(50, "NSEC3")      \
	X(51, "NSEC3PARAM") \
	X(10, "NULL")       \
	X(128, "NXNAME")    \
	X(30, "NXT")        \
	X(0, "None")        \
	X(61, "OPENPGPKEY") \
	X(41, "OPT")        \
	X(12, "PTR")        \
	X(26, "PX")         \
	X(261, "RESINFO")   \
	X(57, "RKEY")       \
	X(17, "RP")         \
	X(46, "RRSIG")      \
	X(21, "RT")         \
	X(24, "SIG")        \
	X(53, "SMIMEA")     \
	X(6, "SOA")         \
	X(99, "SPF")        \
	X(33, "SRV")        \
	X(44, "SSHFP")      \
	X(64, "SVCB")       \
	X(58, "TALINK")     \
	X(249, "TKEY")      \
	X(52, "TLSA")       \
	X(250, "TSIG")      \
	X(16, "TXT")        \
	X(101, "UID")       \
	X(100, "UINFO")     \
	X(103, "UNSPEC")    \
	X(256, "URI")       \
	X(19, "X25")        \
	X(63, "ZONEMD")

/* Numbers too large for an index. */
#define LARGE_TYPES(X)       \
	X(32769, "DLV")      \
	X(65535, "Reserved") \
	X(32768, "TA")

#define CLASSES(X)    \
	X(255, "ANY") \
	X(3, "CH")    \
	X(2, "CS")    \
	X(4, "HS")    \
	X(1, "IN")    \
	X(254, "NONE")

/* 16 is BADSIG, as CoreDNS prints it, also where it means BADVERS. */
#define RCODES(X)          \
	X(21, "BADALG")    \
	X(23, "BADCOOKIE") \
	X(17, "BADKEY")    \
	X(19, "BADMODE")   \
	X(20, "BADNAME")   \
	X(16, "BADSIG")    \
	X(18, "BADTIME")   \
	X(22, "BADTRUNC")  \
	X(11, "DSOTYPENI") \
	X(1, "FORMERR")    \
	X(0, "NOERROR")    \
	X(9, "NOTAUTH")    \
	X(4, "NOTIMP")     \
	X(10, "NOTZONE")   \
	X(3, "NXDOMAIN")   \
	X(8, "NXRRSET")    \
	X(5, "REFUSED")    \
	X(2, "SERVFAIL")   \
	X(6, "YXDOMAIN")   \
	X(7, "YXRRSET")

struct row {
	uint16_t number;
	uint16_t len;
	const char *text;
};

#define ROW(n, s)   { n, sizeof(s) - 1, s },
#define INDEX(n, s) [n] = s,

static const struct row types[] = { TYPES(ROW) };
static const struct row large_types[] = { LARGE_TYPES(ROW) };
static const struct row classes[] = { CLASSES(ROW) };
static const struct row rcodes[] = { RCODES(ROW) };

static const char *const type_index[] = { TYPES(INDEX) };
static const char *const class_index[] = { CLASSES(INDEX) };
static const char *const rcode_index[] = { RCODES(INDEX) };

static const char *mnemonic_of(const char *const *index, size_t len, unsigned number)
{
	return number < len ? index[number] : NULL;
}

/* Prefix and decimal number; the prefix is at most 5 bytes. */
static const char *print_number(const char *prefix, unsigned number, char buf[DNS_MNEMONIC_MAX])
{
	char digits[5];
	size_t n = 0;
	size_t at = strlen(prefix);
	memcpy(buf, prefix, at);
	do {
		digits[n++] = (char)('0' + number % 10);
		number /= 10;
	} while (number != 0 && n < sizeof(digits));
	while (n > 0)
		buf[at++] = digits[--n];
	buf[at] = '\0';
	return buf;
}

const char *dns_type_str(uint16_t type, char buf[DNS_MNEMONIC_MAX])
{
	const char *s = mnemonic_of(type_index, ARRAY_LEN(type_index), type);
	for (size_t i = 0; s == NULL && i < ARRAY_LEN(large_types); i++)
		if (large_types[i].number == type)
			s = large_types[i].text;
	return s != NULL ? s : print_number("TYPE", type, buf);
}

const char *dns_class_str(uint16_t cls, char buf[DNS_MNEMONIC_MAX])
{
	const char *s = mnemonic_of(class_index, ARRAY_LEN(class_index), cls);
	return s != NULL ? s : print_number("CLASS", cls, buf);
}

const char *dns_rcode_str(uint16_t rcode, char buf[DNS_MNEMONIC_MAX])
{
	const char *s = mnemonic_of(rcode_index, ARRAY_LEN(rcode_index), rcode);
	return s != NULL ? s : print_number("", rcode, buf);
}

static int compare_row(struct slice text, const struct row *row)
{
	int d = memcmp(text.p, row->text, MIN(text.n, row->len));
	return d != 0 ? d : (text.n > row->len) - (text.n < row->len);
}

static int find_number(const struct row *rows, size_t count, struct slice text)
{
	size_t low = 0;
	while (text.n != 0 && low < count) {
		size_t mid = low + (count - low) / 2;
		int d = compare_row(text, &rows[mid]);
		if (d == 0)
			return rows[mid].number;
		if (d > 0)
			low = mid + 1;
		else
			count = mid;
	}
	return ERR_NOTFOUND;
}

static int generic_number(struct slice text, struct slice prefix)
{
	uint64_t v;
	if (!slice_starts(text, prefix) || slice_u64(slice_from(text, prefix.n), &v) < 0 ||
	    v > UINT16_MAX)
		return ERR_NOTFOUND;
	return (int)v;
}

int dns_type_parse(struct slice text, bool generic)
{
	int r = find_number(types, ARRAY_LEN(types), text);
	if (r < 0)
		r = find_number(large_types, ARRAY_LEN(large_types), text);
	return r < 0 && generic ? generic_number(text, SLICE("TYPE")) : r;
}

int dns_class_parse(struct slice text, bool generic)
{
	int r = find_number(classes, ARRAY_LEN(classes), text);
	return r < 0 && generic ? generic_number(text, SLICE("CLASS")) : r;
}

int dns_rcode_parse(struct slice text)
{
	int r = find_number(rcodes, ARRAY_LEN(rcodes), text);
	/* The older spelling is still accepted. */
	return r < 0 && slice_is(text, "NOTIMPL") ? DNS_RCODE_NOTIMP : r;
}
