/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work is held for others that are to come, and for them only. */
#include "controller/dnsrecord/wave.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "controller/engine.h"

struct scene {
	struct dnsrecord_wave wave;
	struct engine *engine;
};

static void ignore_key(void *arg, const char *key)
{
	(void)arg;
	(void)key;
}

static void do_nothing(struct engine_work *work)
{
	(void)work; /* under way until it is cancelled */
}

static void free_work(struct engine_work *work)
{
	free(work);
}

static struct engine_work *new_work(void)
{
	static const struct engine_work_ops ops = { do_nothing, do_nothing, free_work };
	struct engine_work *work = xcalloc(1, sizeof(*work));
	work->ops = &ops;
	return work;
}

static int setup(void **state)
{
	struct scene *scene = xcalloc(1, sizeof(*scene));
	char err[200];
	dnsrecord_wave_init(&scene->wave);
	assert_int_equal(engine_start(&(struct engine_conf){ .emit = ignore_key }, &scene->engine,
				      ERR_TEXT(err)),
			 0);
	*state = scene;
	return 0;
}

static int teardown(void **state)
{
	struct scene *scene = *state;
	engine_stop(scene->engine);
	dnsrecord_wave_done(&scene->wave);
	free(scene);
	return 0;
}

static uint64_t submit(struct scene *scene, const char *key, uint64_t input)
{
	uint64_t again_ns = 0;
	dnsrecord_wave_submit(&scene->wave, scene->engine, key, input, new_work(), &again_ns);
	return again_ns;
}

static void single_one_is_not_held(void **state)
{
	struct scene *scene = *state;
	assert_int_equal(submit(scene, "a", 1), 0);
	assert_int_equal(engine_count(scene->engine), 1);
}

static void held_for_others(void **state)
{
	struct scene *scene = *state;
	uint64_t again_ns = 0;
	dnsrecord_wave_expect(&scene->wave, "b", true);
	dnsrecord_wave_expect(&scene->wave, "b", true);
	uint64_t left_ns = submit(scene, "a", 1);
	assert_true(left_ns > 0 && left_ns <= DNSRECORD_HOLD_NS);
	assert_int_equal(engine_count(scene->engine), 0);
	assert_true(dnsrecord_wave_has(&scene->wave, "a", 1, &again_ns));
	assert_true(again_ns > 0);
	dnsrecord_wave_flush(&scene->wave, scene->engine);
	assert_int_equal(engine_count(scene->engine), 0);
	/* The pass of the other one begins, and comes to nothing. */
	dnsrecord_wave_expect(&scene->wave, "b", false);
	dnsrecord_wave_flush(&scene->wave, scene->engine);
	assert_int_equal(engine_count(scene->engine), 1);
	assert_false(dnsrecord_wave_has(&scene->wave, "a", 1, &again_ns));
}

/* The object changed, or is gone: what was held for it is not sent. */
static void outdated_work_is_dropped(void **state)
{
	struct scene *scene = *state;
	uint64_t again_ns = 0;
	dnsrecord_wave_expect(&scene->wave, "z", true);
	submit(scene, "a", 1);
	submit(scene, "b", 1);
	submit(scene, "c", 1);
	assert_false(dnsrecord_wave_has(&scene->wave, "a", 2, &again_ns));
	dnsrecord_wave_drop(&scene->wave, "b");
	dnsrecord_wave_expect(&scene->wave, "z", false);
	dnsrecord_wave_flush(&scene->wave, scene->engine);
	assert_int_equal(engine_count(scene->engine), 1);
}

static void rest_is_freed(void **state)
{
	struct scene *scene = *state;
	dnsrecord_wave_expect(&scene->wave, "z", true);
	submit(scene, "a", 1);
	submit(scene, "a", 2);
	assert_int_equal(engine_count(scene->engine), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(single_one_is_not_held, setup, teardown),
		cmocka_unit_test_setup_teardown(held_for_others, setup, teardown),
		cmocka_unit_test_setup_teardown(outdated_work_is_dropped, setup, teardown),
		cmocka_unit_test_setup_teardown(rest_is_freed, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
