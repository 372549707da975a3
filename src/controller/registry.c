/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of controllers, from the one in controller/meson.build. */
#include <stddef.h>
#include <string.h>

#include "controller/controller.h"

#define CONTROLLER(name) extern const struct controller name##_controller;
#include "controller/controllers.def"
#undef CONTROLLER

const struct controller *const controller_list[] = {
#define CONTROLLER(name) &name##_controller,
#include "controller/controllers.def"
#undef CONTROLLER
	NULL,
};

const struct controller *controller_find(const char *name)
{
	for (size_t i = 0; controller_list[i] != NULL; i++) {
		if (strcmp(controller_list[i]->name, name) == 0)
			return controller_list[i];
	}
	return NULL;
}

struct controller_writes controller_default_writes(const struct controller *controller)
{
	if (controller->writes.per_s != 0)
		return controller->writes;
	return (struct controller_writes){ CONTROLLER_WRITES_PER_S, CONTROLLER_WRITES_BURST };
}
