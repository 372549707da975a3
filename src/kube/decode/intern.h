/* Texts that many objects have in common (namespaces, nodes, port names), kept once and counted.
 * All calls are safe from any thread; a text stays while somebody holds it. */
#pragma once

#include <stddef.h>

#include "base/slice.h"

struct kube_intern;

struct kube_intern *kube_intern_new(void);
/* Texts still held stay valid; the table goes with the last of them. */
void kube_intern_free(struct kube_intern *intern);

/* The text, terminated; held until dropped as often as it was got. "" is shared by all and need not
 * be dropped (but may be). */
const char *kube_intern_get(struct kube_intern *intern, struct slice text);
/* One that is held already, once more. */
const char *kube_intern_again(const char *text);
void kube_intern_drop(const char *text);

size_t kube_intern_count(struct kube_intern *intern);
