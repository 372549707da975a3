/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The registry: a map from key to reference-counted value, under one mutex. */
#include "server/resource.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards `all` and every refs field */
static struct map all;

static int make_resource(const char *key, resource_make_fn make, void *arg, struct resource **ret)
{
	struct resource *resource = xcalloc(1, sizeof(*resource));
	int r = make(arg, &resource->tasks, &resource->value);
	if (r < 0) {
		assert(resource->tasks.first == NULL);
		free(resource);
		return r;
	}
	resource->key = xstrdup(key);
	*ret = resource;
	return r;
}

int resource_get(const char *key, resource_make_fn make, void *arg, void (*free_fn)(void *value),
		 struct resource **ret)
{
	int err = 0;
	pthread_mutex_lock(&lock);
	struct resource *resource = map_get(&all, slice_of(key));
	if (resource == NULL) {
		err = make_resource(key, make, arg, &resource);
		if (err >= 0) {
			resource->free = free_fn;
			map_set(&all, slice_of(key), resource);
		}
	}
	if (resource != NULL) {
		resource->refs++;
		*ret = resource;
	}
	pthread_mutex_unlock(&lock);
	return resource != NULL ? 0 : err;
}

void resource_put(struct resource *resource)
{
	if (resource == NULL)
		return;
	pthread_mutex_lock(&lock);
	assert(resource->refs > 0);
	bool last = --resource->refs == 0;
	if (last)
		map_del(&all, slice_of(resource->key));
	if (last && all.n == 0)
		map_done(&all);
	pthread_mutex_unlock(&lock);
	if (!last)
		return;
	task_owner_stop(&resource->tasks);
	if (resource->free != NULL)
		resource->free(resource->value);
	free(resource->key);
	free(resource);
}
