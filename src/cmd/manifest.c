/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads manifests from files, folders and standard input. The text is kept, so that an error of
 * the server can be shown at its place in the file. */
#include "cmd/manifest.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/meta.h"
#include "api/tree.h"
#include "api/yaml/yaml.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/readfile.h"

enum { PIPE_WAIT_MS = 60000 };

struct reader {
	struct manifests *m;
	bool needs_identity; /* objects are refused that no API server could be asked for */
	struct err_text err;
};

static bool add_object(struct reader *reader, json_t *object, const struct manifest_file *file,
		       unsigned doc, const char *inside)
{
	struct manifest_object x = {
		.o = json_incref(object), .file = file, .doc = doc, .inside = xstrdup(inside)
	};
	const char *missing = api_kind(object)[0] == '\0'      ? "kind"
			      : api_version(object)[0] == '\0' ? "apiVersion"
			      : reader->needs_identity && api_name(object)[0] == '\0'
				      ? "metadata.name"
				      : NULL;
	vec_push(&reader->m->objects, x);
	if (missing == NULL)
		return true;
	CLEANUP(strbuf_done) struct strbuf place = STRBUF_INIT;
	manifest_place(&x, "", &place);
	err_text_set(reader->err, "%s: object without %s", place.s, missing);
	return false;
}

static void set_missing(json_t *item, const char *member, const char *value, size_t len)
{
	if (json_is_object(item) && json_object_get(item, member) == NULL)
		json_object_set_new(item, member, json_stringn(value, len));
}

/* API servers leave out what items of a PodList have in common. */
static void complete_item(json_t *item, const json_t *list, size_t kind_len)
{
	if (kind_len == 0) /* a List of anything */
		return;
	set_missing(item, "kind", api_kind(list), kind_len);
	set_missing(item, "apiVersion", api_version(list), strlen(api_version(list)));
}

static bool add_document(struct reader *reader, json_t *object, const struct manifest_file *file,
			 unsigned doc)
{
	json_t *items = json_object_get(object, "items"), *item;
	size_t i;
	size_t n = strlen(api_kind(object));
	if (!json_is_array(items) || n < 4 || strcmp(api_kind(object) + n - 4, "List") != 0)
		return add_object(reader, object, file, doc, "");
	json_array_foreach (items, i, item) {
		CLEANUP(freep) char *inside = xasprintf("items[%zu]", i);
		if (!reader->needs_identity)
			complete_item(item, object, n - 4);
		if (!add_object(reader, item, file, doc, inside))
			return false;
	}
	return true;
}

static bool parse_file(struct reader *reader, const struct manifest_file *file)
{
	struct api_docs docs = { 0 };
	struct srcerr where = { 0 };
	bool ok = true;
	if (api_yaml_parse(file->name, strbuf_slice(&file->text), &docs, &where) < 0) {
		srcerr_str(&where, reader->err.text, reader->err.size);
		return false;
	}
	for (size_t i = 0; i < docs.n && ok; i++)
		ok = add_document(reader, docs.v[i], file, docs.index[i]);
	api_docs_done(&docs);
	return ok;
}

static bool read_file(struct reader *reader, const char *path)
{
	struct manifest_file *f = xcalloc(1, sizeof(*f));
	bool standard = strcmp(path, "-") == 0;
	f->name = xstrdup(standard ? "<stdin>" : path);
	strbuf_init(&f->text);
	vec_push(&reader->m->files, f);
	int e = standard ? readfile_fd(STDIN_FILENO, API_YAML_BYTES_MAX, &f->text)
			 : readfile_path(path, API_YAML_BYTES_MAX, PIPE_WAIT_MS, &f->text);
	if (e == ERR_LIMIT) {
		err_text_set(reader->err, "cannot read '%s': it has more than %d bytes", f->name,
			     API_YAML_BYTES_MAX);
		return false;
	}
	if (e < 0) {
		err_text_set(reader->err, "cannot read '%s': %s", f->name, err_str(e));
		return false;
	}
	return parse_file(reader, f);
}

static bool is_manifest_name(const char *name)
{
	static const char *const ends[] = { ".yaml", ".yml", ".json" };
	size_t n = strlen(name);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		size_t e = strlen(ends[i]);
		if (n > e && name[0] != '.' && strcmp(name + n - e, ends[i]) == 0)
			return true;
	}
	return false;
}

static int is_manifest_entry(const struct dirent *entry)
{
	return is_manifest_name(entry->d_name);
}

static bool read_folder(struct reader *reader, const char *path)
{
	struct dirent **names = NULL;
	int n = scandir(path, &names, is_manifest_entry, alphasort);
	bool ok = n > 0;
	if (n < 0)
		err_text_set(reader->err, "cannot read '%s': %s", path, err_str(-errno));
	else if (n == 0)
		err_text_set(reader->err, "no .yaml, .yml or .json file in '%s'", path);
	for (int i = 0; i < n; i++) {
		CLEANUP(freep) char *file = xasprintf("%s/%s", path, names[i]->d_name);
		ok = ok && read_file(reader, file);
		free(names[i]);
	}
	free(names);
	return ok;
}

static bool read_paths(const struct flag_values *paths, bool needs_identity, struct manifests *ret,
		       struct err_text err)
{
	struct reader r = { .m = ret, .needs_identity = needs_identity, .err = err };
	*ret = (struct manifests){ 0 };
	for (size_t i = 0; i < paths->n; i++) {
		struct stat st;
		bool folder = strcmp(paths->v[i], "-") != 0 && stat(paths->v[i], &st) == 0 &&
			      S_ISDIR(st.st_mode);
		if (!(folder ? read_folder(&r, paths->v[i]) : read_file(&r, paths->v[i])))
			return false;
	}
	if (paths->n != 0 && ret->objects.n == 0) {
		err_text_set(err, "no object in '%s'", paths->v[0]);
		return false;
	}
	return true;
}

bool manifests_read(const struct flag_values *paths, struct manifests *ret, struct err_text err)
{
	return read_paths(paths, true, ret, err);
}

bool manifests_read_unnamed(const struct flag_values *paths, struct manifests *ret,
			    struct err_text err)
{
	return read_paths(paths, false, ret, err);
}

void manifests_done(struct manifests *manifests)
{
	for (size_t i = 0; i < manifests->objects.n; i++) {
		json_decref(manifests->objects.v[i].o);
		free(manifests->objects.v[i].inside);
	}
	for (size_t i = 0; i < manifests->files.n; i++) {
		free(manifests->files.v[i]->name);
		strbuf_done(&manifests->files.v[i]->text);
		free(manifests->files.v[i]);
	}
	vec_done(&manifests->objects);
	vec_done(&manifests->files);
}

void manifest_place(const struct manifest_object *object, const char *field, struct strbuf *out)
{
	struct srcpos pos = { .line = 1, .col = 1 };
	CLEANUP(freep)
	char *path = xasprintf("%s%s%s", object->inside,
			       object->inside[0] != '\0' && field[0] != '\0' ? "." : "", field);
	/* Without such a place, that of the nearest parent, or of the document. */
	if (!api_yaml_locate(object->file->name, strbuf_slice(&object->file->text), object->doc,
			     path, &pos))
		pos = (struct srcpos){ .line = 1, .col = 1 };
	strbuf_addf(out, "%s:%u:%u", object->file->name, pos.line, pos.col);
}
