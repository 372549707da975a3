/* Rights of the files of a data directory, which hold tokens, keys and Secrets. */
#pragma once

/* Takes the rights of everybody else from files that were found with some (a copy, a restore by
 * hand, a umask), and says so, since what is in them may be known. Files of others, links and files
 * that do not exist are left alone. A directory that everybody can write is closed to them, too.
 * `trouble` may be NULL. */
void apiserver_file_modes_restrict(const char *dir, void (*trouble)(void *ctx, const char *text),
				   void *ctx);
