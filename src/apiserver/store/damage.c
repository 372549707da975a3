/* Damaged rows: reading one fails with ERR_DAMAGED and names its key. Each is reported once, and
 * health checks fail until a verification of all rows finds none. */
#include "apiserver/store/damage_priv.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apiserver/store/damage.h"
#include "apiserver/store/store.h"
#include "apiserver/store/store_priv.h"
#include "base/err.h"
#include "base/mem.h"

/* The key that belongs to the last ERR_DAMAGED of this thread. */
static _Thread_local char last_key[APISERVER_KEY_MAX_BYTES + 1];

void store_damage_note(struct apiserver_store *store, const char *key)
{
	struct store_damage *d = &store->damage;
	bool is_new = true;
	snprintf(last_key, sizeof(last_key), "%s", key);
	pthread_mutex_lock(&d->lock);
	for (size_t i = 0; i < d->count && is_new; i++)
		is_new = strcmp(d->key[i], key) != 0;
	is_new = is_new && d->count < STORE_DAMAGE_KEYS;
	if (is_new)
		d->key[d->count++] = xstrdup(key);
	assert(d->count <= STORE_DAMAGE_KEYS);
	pthread_mutex_unlock(&d->lock);
	if (!is_new || store->conf.on_failure == NULL)
		return;
	CLEANUP(freep)
	char *text = xasprintf("%s%s%s in '%s' is damaged: put a backup in its place with "
			       "`fairlead restore`",
			       *key != '\0' ? "object '" : "something", key,
			       *key != '\0' ? "'" : "", store->file);
	store->conf.on_failure(store->conf.ctx, text);
}

int store_damage_note_error(struct apiserver_store *store, int error)
{
	if (error == ERR_PARSE)
		store_damage_note(store, "");
	return error;
}

void store_damage_clear(struct apiserver_store *store)
{
	struct store_damage *d = &store->damage;
	pthread_mutex_lock(&d->lock);
	while (d->count > 0)
		free(d->key[--d->count]);
	pthread_mutex_unlock(&d->lock);
}

int apiserver_store_damaged(struct apiserver_store *store, const char *key)
{
	store_damage_note(store, key);
	return ERR_DAMAGED;
}

const char *apiserver_store_damaged_key(void)
{
	return last_key;
}

bool apiserver_store_is_sound(struct apiserver_store *store, struct strbuf *why)
{
	struct store_damage *d = &store->damage;
	pthread_mutex_lock(&d->lock);
	for (size_t i = 0; i < d->count && why != NULL; i++)
		strbuf_addf(why, "%s%s", i > 0 ? ", " : "damaged in the database: ",
			    d->key[i][0] != '\0' ? d->key[i] : "the file");
	bool sound = d->count == 0;
	pthread_mutex_unlock(&d->lock);
	return sound;
}
