/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The three forms of a transfer, cut into messages anywhere, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "resolve/test_transfer_messages.h"
#include "resolve/transfer_reader_priv.h"

enum { ID = 0x1234 };

/* Notes "+text" and "-text". */
static int note_record(void *ctx, const struct resolve_transfer_record *record)
{
	struct strbuf *out = ctx;
	assert_int_equal(record->type, DNS_TYPE_TXT);
	strbuf_addf(out, "%s%c%.*s", out->n != 0 ? " " : "", record->is_deletion ? '-' : '+',
		    record->rdata[0], (const char *)record->rdata + 1);
	return 0;
}

static struct transfer_reader reader_for(const uint32_t *serial, struct strbuf *out)
{
	return (struct transfer_reader){ .id = ID,
					 .zone = transfer_zone,
					 .incremental = serial != NULL,
					 .serial = serial != NULL ? *serial : 0,
					 .max_records = 100,
					 .max_bytes = 10000,
					 .record = note_record,
					 .ctx = out };
}

/* Messages are parted by '|'. Returns the last result. */
static int feed_script(struct transfer_reader *reader, const char *script, struct err_text err)
{
	char part[256];
	int r = 0;
	for (bool first = true; r == 0 && script != NULL; first = false) {
		const char *bar = strchr(script, '|');
		struct transfer_message message;
		snprintf(part, sizeof(part), "%.*s",
			 bar != NULL ? (int)(bar - script) : (int)strlen(script), script);
		message_start(&message, ID, first);
		message_add_script(&message, part);
		r = transfer_reader_feed(reader, message.bytes, message.n, err);
		script = bar != NULL ? bar + 1 : NULL;
	}
	return r;
}

struct row {
	const char *script, *records;
	int result;
	bool axfr;
	bool current;
};

/* IXFR is from version 5. */
static const struct row rows[] = {
	{ "9 5 a 9 b 9", "-a +b", 1, false, false },
	{ "9|5|a|9|b|9", "-a +b", 1, false, false },
	{ "9 5 a 7 b c 7 b 9 d 9", "-a +b +c -b +d", 1, false, false },
	{ "9 5 7 7 9 9", "", 1, false, false },
	{ "9 a b 9", "+a +b", 1, false, false },
	{ "9|a|b|9", "+a +b", 1, false, false },
	{ "9 a b 9", "+a +b", 1, true, false },
	{ "9 9", "", 1, true, false },
	{ "9 9", "", 1, false, false },
	{ "5", "", 1, false, true },
	{ "4", "", 1, false, true }, /* the server's is older */
	{ "6", "", 0, false, false },
	{ "5", "", 0, true, false },
	{ "9 a", "+a", 0, true, false },
	{ "a 9", "", ERR_PARSE, true, false },
	{ "9 5 a 9", "", ERR_PARSE, true, false },
	{ "9 6 a 9 b 9", "", ERR_PARSE, false, false },
	{ "9 a 8", "+a", ERR_PARSE, false, false },
	{ "9 5 a 7 b 8 c 9", "-a +b", ERR_PARSE, false, false },
	{ "9 5 a 7 b 9", "-a +b", ERR_PARSE, false, false },
	{ "9 a 9 b", "+a", ERR_PARSE, true, false },
	{ "9|", "", ERR_PARSE, true, false },
};

static void reads_all_forms(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint32_t serial = 5;
		CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
		struct transfer_reader reader = reader_for(rows[i].axfr ? NULL : &serial, &out);
		char err[200] = "";
		int r = feed_script(&reader, rows[i].script, ERR_TEXT(err));
		if (r != rows[i].result)
			print_error("row %zu: %s\n", i, err);
		assert_int_equal(r, rows[i].result);
		assert_int_equal(r < 0, err[0] != '\0');
		assert_string_equal(strbuf_slice(&out).n != 0 ? out.s : "", rows[i].records);
		assert_int_equal(reader.is_current, rows[i].current);
		if (r == 1 && !rows[i].current)
			assert_int_equal(reader.new_serial, 9);
	}
}

/* Serials are compared around their end. */
static void serials_wrap(void **state)
{
	(void)state;
	uint32_t serial = UINT32_MAX;
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	struct transfer_reader reader = reader_for(&serial, &out);
	assert_int_equal(feed_script(&reader, "3", (struct err_text){ 0 }), 0); /* newer */
	serial = 3;
	reader = reader_for(&serial, &out);
	assert_int_equal(feed_script(&reader, "4294967295", (struct err_text){ 0 }), 1);
	assert_true(reader.is_current);
}

static void limits_hold(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	struct transfer_reader reader = reader_for(NULL, &out);
	reader.max_records = 3;
	assert_int_equal(feed_script(&reader, "9 a 9", (struct err_text){ 0 }), 1);
	reader = reader_for(NULL, &out);
	reader.max_records = 3;
	assert_int_equal(feed_script(&reader, "9 a b 9", (struct err_text){ 0 }), ERR_LIMIT);
	reader = reader_for(NULL, &out);
	reader.max_bytes = 100;
	assert_int_equal(feed_script(&reader, "9 a|b c d|9", (struct err_text){ 0 }), ERR_LIMIT);
}

/* Changes one thing of a message that is accepted as it is. */
static void refuses_other_messages(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
		int result;
	} changes[] = {
		{ 0, 0x99, ERR_PARSE },	       /* id */
		{ 2, 0x00, ERR_PARSE },	       /* a question */
		{ 2, 0xa8, ERR_PARSE },	       /* another opcode */
		{ 2, 0x82, ERR_PARSE },	       /* truncated */
		{ 3, 5, ERR_DENIED },	       /* REFUSED */
		{ 3, 9, ERR_DENIED },	       /* NOTAUTH */
		{ 3, 4, ERR_UNSUPPORTED },     /* NOTIMP */
		{ 5, 2, ERR_PARSE },	       /* two questions */
		{ 7, 0, ERR_PARSE },	       /* no records */
		{ 7, 99, ERR_PARSE },	       /* more than there are */
		{ 13, 'E' ^ 1, ERR_PARSE },    /* another zone's question */
		{ 12 + 9 + 4, 63, ERR_PARSE }, /* an owner that does not end */
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
		struct transfer_reader reader = reader_for(NULL, &out);
		struct transfer_message message;
		char err[200] = "";
		message_start(&message, ID, true);
		message_add_script(&message, "9 a 9");
		message.bytes[changes[i].at] = changes[i].value;
		assert_int_equal(
			transfer_reader_feed(&reader, message.bytes, message.n, ERR_TEXT(err)),
			changes[i].result);
		assert_true(err[0] != '\0');
	}
}

static void refuses_names_outside(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	struct transfer_reader reader = reader_for(NULL, &out);
	struct transfer_message message;
	message_start(&message, ID, true);
	message_add_soa(&message, 9);
	message_add(&message, (const uint8_t *)"\1a\3org", DNS_TYPE_TXT, "\1a", 2);
	assert_int_equal(
		transfer_reader_feed(&reader, message.bytes, message.n, (struct err_text){ 0 }),
		ERR_PARSE);
}

/* A message cut anywhere is refused, or was not whole yet. */
static void survives_cuts(void **state)
{
	(void)state;
	struct transfer_message message;
	message_start(&message, ID, true);
	message_add_script(&message, "9 5 a 9 b 9");
	for (size_t n = 0; n < message.n; n++) {
		uint32_t serial = 5;
		CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
		struct transfer_reader reader = reader_for(&serial, &out);
		assert_int_equal(
			transfer_reader_feed(&reader, message.bytes, n, (struct err_text){ 0 }),
			ERR_PARSE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_all_forms),	 cmocka_unit_test(serials_wrap),
		cmocka_unit_test(limits_hold),		 cmocka_unit_test(refuses_other_messages),
		cmocka_unit_test(refuses_names_outside), cmocka_unit_test(survives_cuts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
