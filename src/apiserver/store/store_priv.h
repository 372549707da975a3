/* SPDX-License-Identifier: GPL-3.0-or-later */
/* struct apiserver_store and the parts that its files own. Which file does what:
 *
 *	store.c		opening and closing
 *	data_dir.c	the data directory, its lock and its bound of revisions
 *	database_file.c	SQLite tables, their version, checks of the file
 *	db.c		one connection to SQLite with its prepared statements
 *	writer.c	the writer's thread and its queue
 *	transaction.c	one batch of writes as a transaction; what is written on a full disk
 *	reader_pool.c	connections lent to readers
 *	read.c		get and list
 *	read_cache.c	rows that were read lately
 *	event.c		events: one change each, reference-counted
 *	ring.c		the latest events in memory, and waking watches
 *	watch.c		watches: events from the table first, then from the ring
 *	compact.c	deleting old versions
 *	checksum.c	checksums of rows
 *	damage.c	the list of damaged rows, and checking all rows
 *	spare_file.c	disk space reserved for removals
 *	backup.c	copies of the database, and replacing it by one */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "apiserver/store/compact_priv.h"
#include "apiserver/store/damage_priv.h"
#include "apiserver/store/read_cache_priv.h"
#include "apiserver/store/reader_pool_priv.h"
#include "apiserver/store/ring_priv.h"
#include "apiserver/store/store.h"
#include "apiserver/store/writer_priv.h"

struct apiserver_store {
	struct apiserver_store_conf conf;
	char *dir, *file;
	int lock_fd;
	struct store_writer writer;
	struct store_compactor compactor;
	struct store_pool pool;
	struct store_ring ring;
	struct store_read_cache read_cache;
	struct store_damage damage;
	_Atomic uint64_t compacted;
	atomic_bool removals_only; /* the spare is missing: only writes that lead to removals */
	atomic_bool refused;	   /* the last write that leads to no removal did not fit */
	bool spare_short;	   /* the writer's: the spare is smaller than it should be */
};
