/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts who is to come, and holds work until they are there. */
#include "controller/dnsrecord/wave.h"

#include <stdlib.h>

#include "base/mem.h"
#include "controller/engine.h"

struct dnsrecord_held {
	uint64_t input;
	struct engine_work *work;
};

void dnsrecord_wave_init(struct dnsrecord_wave *wave)
{
	pthread_mutex_init(&wave->lock, NULL);
	map_init(&wave->waiting);
	map_init(&wave->held);
}

static void free_held(struct dnsrecord_held *held)
{
	if (held == NULL)
		return;
	engine_work_free(held->work);
	free(held);
}

void dnsrecord_wave_done(struct dnsrecord_wave *wave)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(&wave->held, &pos)) != NULL)
		free_held(entry->value);
	map_done(&wave->held);
	map_done(&wave->waiting);
	pthread_mutex_destroy(&wave->lock);
}

void dnsrecord_wave_expect(struct dnsrecord_wave *wave, const char *key, bool is_expected)
{
	pthread_mutex_lock(&wave->lock);
	if (is_expected && !map_has(&wave->waiting, slice_of(key)))
		map_set(&wave->waiting, slice_of(key), wave);
	else if (!is_expected)
		map_del(&wave->waiting, slice_of(key));
	pthread_mutex_unlock(&wave->lock);
}

/* Under the lock: nanoseconds for which work is still held; 0: it goes. */
static uint64_t hold_left_ns(const struct dnsrecord_wave *wave)
{
	uint64_t now = clock_mono_ns(), end = wave->since_ns + DNSRECORD_HOLD_NS;
	return wave->waiting.n == 0 || now >= end ? 0 : end - now;
}

/* Under the lock. */
static void hand_over_all(struct dnsrecord_wave *wave, struct engine *engine)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(&wave->held, &pos)) != NULL) {
		struct dnsrecord_held *held = entry->value;
		engine_submit(engine, entry->key, held->input, held->work);
		free(held);
	}
	map_done(&wave->held);
	map_init(&wave->held);
}

bool dnsrecord_wave_has(struct dnsrecord_wave *wave, const char *key, uint64_t input,
			uint64_t *ret_again_ns)
{
	pthread_mutex_lock(&wave->lock);
	struct dnsrecord_held *held = map_get(&wave->held, slice_of(key));
	bool is_same = held != NULL && held->input == input;
	if (held != NULL && !is_same)
		free_held(map_del(&wave->held, slice_of(key)));
	if (is_same)
		*ret_again_ns = MAX(hold_left_ns(wave), NS_PER_MS);
	pthread_mutex_unlock(&wave->lock);
	return is_same;
}

void dnsrecord_wave_drop(struct dnsrecord_wave *wave, const char *key)
{
	pthread_mutex_lock(&wave->lock);
	free_held(map_del(&wave->held, slice_of(key)));
	pthread_mutex_unlock(&wave->lock);
}

void dnsrecord_wave_submit(struct dnsrecord_wave *wave, struct engine *engine, const char *key,
			   uint64_t input, struct engine_work *work, uint64_t *ret_again_ns)
{
	struct dnsrecord_held *held = xcalloc(1, sizeof(*held));
	*held = (struct dnsrecord_held){ input, work };
	pthread_mutex_lock(&wave->lock);
	if (wave->held.n == 0)
		wave->since_ns = clock_mono_ns();
	free_held(map_set(&wave->held, slice_of(key), held));
	uint64_t left_ns = hold_left_ns(wave);
	if (left_ns == 0)
		hand_over_all(wave, engine);
	else
		*ret_again_ns = left_ns;
	pthread_mutex_unlock(&wave->lock);
}

void dnsrecord_wave_flush(struct dnsrecord_wave *wave, struct engine *engine)
{
	pthread_mutex_lock(&wave->lock);
	if (wave->held.n != 0 && hold_left_ns(wave) == 0)
		hand_over_all(wave, engine);
	pthread_mutex_unlock(&wave->lock);
}
