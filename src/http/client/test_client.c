/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls on a loop: many at once, cancelled ones; connections kept. */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "http/client/test_rig.h"

/* ---- large replies ---- */

enum { LARGE_BYTES = 8 << 20, PIECES_A_TURN = 14 };

/* One whose pieces cost a millisecond each, and another client's beside it. */
struct neighbours {
	unsigned pieces, most; /* in this turn of the loop; in any */
	unsigned small_ended;  /* before the large one */
	bool is_large_done;
	size_t got, fails_at; /* bytes of the large one */
};

static int take_slowly(struct http_call *call, struct slice bytes)
{
	struct neighbours *neighbours = call->ctx;
	uint64_t end = clock_mono_ns() + NS_PER_MS;
	while (clock_mono_ns() < end)
		;
	neighbours->got += bytes.n;
	if (neighbours->fails_at != 0 && neighbours->got >= neighbours->fails_at)
		return ERR_PARSE;
	neighbours->pieces++;
	neighbours->most = MAX(neighbours->most, neighbours->pieces);
	return 0;
}

static void note_large(struct http_call *call)
{
	((struct neighbours *)call->ctx)->is_large_done = true;
}

static void note_small(struct http_call *call)
{
	struct neighbours *neighbours = call->ctx;
	neighbours->small_ended += !neighbours->is_large_done;
}

/* Until it ends, or is cancelled. */
static void run_large(struct rig *rig, struct neighbours *neighbours, size_t cancel_at,
		      struct http_call *beside)
{
	CLEANUP(freep) char *body = xmalloc(LARGE_BYTES + 1);
	memset(body, 'x', LARGE_BYTES);
	body[LARGE_BYTES] = '\0';
	scripted_http_expect(rig->script,
			     &(struct scripted_call){ .line = "GET /x",
						      .reply = { .status = 200, .body = body } });
	struct http_call slow = { .method = "GET",
				  .url = url_of(rig, "/x"),
				  .data = take_slowly,
				  .done = note_large,
				  .ctx = neighbours };
	struct http_client *client =
		http_client_new(rig->loop, &(struct http_client_conf){ 0 }, (struct err_text){ 0 });
	http_client_start(rig->client, &slow);
	while (slow.transfer != NULL) {
		bool was_begun = neighbours->most != 0;
		neighbours->pieces = 0;
		loop_turn(rig->loop, true);
		if (!was_begun && neighbours->most != 0 && beside != NULL)
			http_client_start(client, beside);
		if (cancel_at != 0 && neighbours->got >= cancel_at)
			http_client_cancel(rig->client, &slow);
	}
	assert_int_equal(slow.result, cancel_at != 0		  ? -ECANCELED
				      : neighbours->fails_at != 0 ? ERR_PARSE
								  : 0);
	assert_in_range(neighbours->most, 1, PIECES_A_TURN);
	http_call_release(&slow);
	http_client_free(client);
}

/* A large reply of one server holds up no call to another: it is read a little in each turn of the loop. */
static void large_reply_takes_turns(void **state)
{
	struct rig large, small;
	struct neighbours neighbours = { 0 };
	struct http_call quick = { .method = "GET", .done = note_small, .ctx = &neighbours };
	(void)state;
	rig_up(&large, NULL);
	rig_up(&small, NULL);
	scripted_http_expect(small.script,
			     &(struct scripted_call){ .line = "GET /x",
						      .reply = { .status = 200, .body = "ok" } });
	quick.url = url_of(&small, "/x");
	run_large(&large, &neighbours, 0, &quick);
	assert_int_equal(neighbours.got, LARGE_BYTES);
	assert_int_equal(neighbours.small_ended, 1);
	http_call_release(&quick);
	rig_down(&small);
	rig_down(&large);
}

/* Errors and cancels, also while it waits for a turn. */
static void large_reply_ends_early(void **state)
{
	(void)state;
	for (size_t i = 0; i < 40; i++) {
		struct neighbours neighbours = { .fails_at = i % 2 == 0 ? 300000 + i * 5000 : 0 };
		struct rig rig;
		rig_up(&rig, NULL);
		run_large(&rig, &neighbours, i % 2 == 0 ? 0 : 300000 + i * 5000, NULL);
		rig_down(&rig);
	}
}

/* ---- many ---- */

enum { MANY = 2000, HUNG = 60 };

struct crowd {
	struct rig rig;
	unsigned ended, good; /* good: 200 */
	struct http_call *calls;
};

static void count_end(struct http_call *call)
{
	struct crowd *crowd = call->ctx;
	crowd->ended++;
	crowd->good += call->result == 0 && call->status == 200;
}

static void crowd_up(struct crowd *crowd, size_t n)
{
	memset(crowd, 0, sizeof(*crowd));
	rig_up(&crowd->rig, NULL);
	http_client_free(crowd->rig.client);
	char err[256];
	crowd->rig.client = http_client_new(
		crowd->rig.loop, &(struct http_client_conf){ .host_max = 8 }, ERR_TEXT(err));
	assert_non_null(crowd->rig.client);
	crowd->calls = xcalloc(n, sizeof(*crowd->calls));
}

static void crowd_start(struct crowd *crowd, size_t n, const char *url)
{
	for (size_t i = 0; i < n; i++) {
		crowd->calls[i] = (struct http_call){
			.method = "GET", .url = url, .done = count_end, .ctx = crowd
		};
		http_client_start(crowd->rig.client, &crowd->calls[i]);
	}
}

static void crowd_down(struct crowd *crowd, size_t n)
{
	for (size_t i = 0; i < n; i++)
		http_call_release(&crowd->calls[i]);
	free(crowd->calls);
	rig_down(&crowd->rig);
}

/* Thousands in flight on one thread, over few connections that are used again. */
static void thousands_at_once(void **state)
{
	struct crowd crowd;
	(void)state;
	crowd_up(&crowd, MANY);
	scripted_http_expect(crowd.rig.script,
			     &(struct scripted_call){ .line = "GET /x", .times = MANY });
	crowd_start(&crowd, MANY, url_of(&crowd.rig, "/x"));
	assert_int_equal(crowd.ended, 0); /* only by the loop */
	while (crowd.ended < MANY)
		loop_turn(crowd.rig.loop, true);
	assert_int_equal(crowd.good, MANY);
	assert_true(scripted_http_connections(crowd.rig.script) <= 8);
	crowd_down(&crowd, MANY);
}

/* A server that never answers delays nobody else, and ends with a sentence. */
static void silent_server_beside_another(void **state)
{
	struct crowd silent, other;
	(void)state;
	crowd_up(&silent, HUNG);
	rig_up(&other.rig, NULL);
	scripted_http_expect(silent.rig.script,
			     &(struct scripted_call){ .line = "GET /x",
						      .times = 8,
						      .reply = { .hang_first = true } });
	scripted_http_expect(other.rig.script, &(struct scripted_call){ .line = "GET /y" });
	for (size_t i = 0; i < HUNG; i++)
		silent.calls[i] = (struct http_call){ .method = "GET",
						      .url = url_of(&silent.rig, "/x"),
						      .timeout_ns = 300 * NS_PER_MS,
						      .done = count_end,
						      .ctx = &silent };
	for (size_t i = 0; i < HUNG; i++)
		http_client_start(silent.rig.client, &silent.calls[i]);
	/* On the same client, while the others wait. */
	struct http_call good = { .method = "GET", .url = url_of(&other.rig, "/y") };
	assert_int_equal(run_call(&silent.rig, &good), 0);
	assert_int_equal(silent.ended, 0);
	while (silent.ended < HUNG)
		loop_turn(silent.rig.loop, true);
	assert_int_equal(silent.good, 0);
	unsigned queued = 0;
	for (size_t i = 0; i < HUNG; i++) {
		assert_int_equal(silent.calls[i].result, ERR_TIMEOUT);
		assert_has(silent.calls[i].error, scripted_http_url(silent.rig.script));
		assert_has(silent.calls[i].error, "not done within 300 ms");
		queued += silent.calls[i].phase == HTTP_QUEUED;
	}
	assert_int_equal(queued, HUNG - 8);
	http_call_release(&good);
	rig_down(&other.rig);
	crowd_down(&silent, HUNG);
}

/* Calls wait in their order; those that are cancelled while they wait hold up nobody. */
static void turns_at_a_host(void **state)
{
	static const unsigned cancelled[] = { 1, 4, 9 }; /* the first and the last that wait, too */
	struct crowd crowd;
	char err[256], urls[10][300], line[32];
	(void)state;
	crowd_up(&crowd, 10);
	http_client_free(crowd.rig.client);
	crowd.rig.client = http_client_new(
		crowd.rig.loop, &(struct http_client_conf){ .host_max = 1 }, ERR_TEXT(err));
	for (unsigned i = 0; i < 10; i++) {
		snprintf(line, sizeof(line), "/%u", i);
		snprintf(urls[i], sizeof(urls[i]), "%s", url_of(&crowd.rig, line));
		crowd.calls[i] = (struct http_call){
			.method = "GET", .url = urls[i], .done = count_end, .ctx = &crowd
		};
		http_client_start(crowd.rig.client, &crowd.calls[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(cancelled); i++) {
		http_client_cancel(crowd.rig.client, &crowd.calls[cancelled[i]]);
		assert_int_equal(crowd.calls[cancelled[i]].phase, HTTP_QUEUED);
	}
	static const unsigned served[] = { 0, 2, 3, 5, 6, 7, 8 };
	for (size_t i = 0; i < ARRAY_LEN(served); i++) {
		snprintf(line, sizeof(line), "GET /%u", served[i]);
		scripted_http_expect(crowd.rig.script, &(struct scripted_call){ .line = line });
	}
	while (crowd.ended < ARRAY_LEN(served))
		loop_turn(crowd.rig.loop, true);
	assert_int_equal(crowd.good, ARRAY_LEN(served));
	for (size_t i = 0; i < ARRAY_LEN(served); i++) {
		snprintf(line, sizeof(line), "GET /%u ", served[i]);
		assert_has(scripted_http_call(crowd.rig.script, i), line);
	}
	assert_int_equal(scripted_http_connections(crowd.rig.script), 1);
	crowd_down(&crowd, 10);
}

/* ---- ends ---- */

struct chain {
	struct rig rig;
	unsigned left;
};

static void start_again(struct http_call *call)
{
	struct chain *chain = call->ctx;
	assert_int_equal(call->result, 0);
	if (chain->left == 0)
		return;
	chain->left--;
	http_client_start(chain->rig.client, call);
}

static void started_by_its_own_end(void **state)
{
	struct chain chain = { .left = 3 };
	(void)state;
	rig_up(&chain.rig, NULL);
	scripted_http_expect(chain.rig.script,
			     &(struct scripted_call){ .line = "GET /x", .times = 4 });
	struct http_call call = {
		.method = "GET", .url = url_of(&chain.rig, "/x"), .done = start_again, .ctx = &chain
	};
	assert_int_equal(run_call(&chain.rig, &call), 0);
	assert_int_equal(chain.left, 0);
	assert_string_equal(call.reply.s, "{}");
	assert_int_equal(scripted_http_connections(chain.rig.script), 1);
	http_call_release(&call);
	rig_down(&chain.rig);
}

static void never_called(struct http_call *call)
{
	fail_msg("%s", call->error);
}

static void cancelled_on_its_thread(void **state)
{
	struct rig rig;
	(void)state;
	rig_up(&rig, NULL);
	scripted_http_expect(
		rig.script,
		&(struct scripted_call){ .line = "GET /x", .reply = { .hang_first = true } });
	struct http_call calls[3] = {
		{ .method = "GET", .url = url_of(&rig, "/x"), .done = never_called },
		{ .method = "GET", .url = "http://[", .done = never_called },
	};
	http_client_start(rig.client, &calls[0]);
	http_client_start(rig.client, &calls[1]);
	http_client_cancel(rig.client, &calls[1]);
	while (calls[0].phase != HTTP_WAIT)
		loop_turn(rig.loop, true);
	http_client_cancel(rig.client, &calls[0]);
	http_client_cancel(rig.client, &calls[2]); /* never started */
	assert_int_equal(calls[0].result, -ECANCELED);
	assert_has(calls[0].error, "waiting for the reply");
	scripted_http_call(rig.script, 0);
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		http_call_release(&calls[i]);
	rig_down(&rig);
}

/* What still runs when the client goes. */
static void freed_with_its_client(void **state)
{
	struct rig rig;
	(void)state;
	rig_up(&rig, NULL);
	struct http_call call = { .method = "GET",
				  .url = url_of(&rig, "/x"),
				  .done = never_called };
	static struct http_call more[40]; /* some of them wait */
	http_client_start(rig.client, &call);
	for (size_t i = 0; i < ARRAY_LEN(more); i++) {
		more[i] = (struct http_call){ .method = "GET",
					      .url = call.url,
					      .done = never_called };
		http_client_start(rig.client, &more[i]);
	}
	http_client_free(rig.client);
	rig.client = NULL;
	assert_null(call.transfer);
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		http_call_release(&more[i]);
	loop_turn(rig.loop, false);
	http_call_release(&call);
	rig_down(&rig);
}

/* ---- the double ---- */

static void calls_outside_the_script(void **state)
{
	struct rig rig;
	(void)state;
	rig_up(&rig, NULL);
	scripted_http_expect(rig.script, &(struct scripted_call){ .line = "PUT /a", .body = "x" });
	scripted_http_expect(rig.script,
			     &(struct scripted_call){ .line = "GET /b", .header = "X-Key: k" });
	static const struct {
		const char *method, *path, *body;
	} rows[] = { { "PUT", "/a", "y" }, { "GET", "/b", NULL }, { "GET", "/c", NULL } };
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct http_call call = { .method = rows[i].method,
					  .url = url_of(&rig, rows[i].path),
					  .body = slice_of(rows[i].body) };
		assert_int_equal(run_call(&rig, &call), 0);
		assert_int_equal(call.status, 501);
		http_call_release(&call);
	}
	assert_string_equal(scripted_http_differences(rig.script),
			    "PUT /a HTTP/1.1 has another body\n"
			    "GET /b HTTP/1.1 lacks the header\n"
			    "GET /c HTTP/1.1 is not in the script\n"
			    "PUT /a did not come\nGET /b did not come\n");
	rig_down(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_reply_takes_turns),
		cmocka_unit_test(large_reply_ends_early),
		cmocka_unit_test(thousands_at_once),
		cmocka_unit_test(silent_server_beside_another),
		cmocka_unit_test(turns_at_a_host),
		cmocka_unit_test(started_by_its_own_end),
		cmocka_unit_test(cancelled_on_its_thread),
		cmocka_unit_test(freed_with_its_client),
		cmocka_unit_test(calls_outside_the_script),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
