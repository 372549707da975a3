/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of providers, from the one in provider/meson.build. */
#include <stddef.h>
#include <string.h>

#include "provider/provider.h"

#define PROVIDER(name) extern const struct provider name##_provider;
#include "provider/providers.def"
#undef PROVIDER

const struct provider *const provider_list[] = {
#define PROVIDER(name) &name##_provider,
#include "provider/providers.def"
#undef PROVIDER
	NULL,
};

const struct provider *provider_find(const char *type)
{
	for (size_t i = 0; provider_list[i] != NULL; i++) {
		if (strcmp(provider_list[i]->type, type) == 0)
			return provider_list[i];
	}
	return NULL;
}
