/* ServiceAccount: nothing but its metadata is looked at. */
#include "apiserver/kind/cells.h"
#include "apiserver/kind/strategy.h"

static void validate(const struct apiserver_env *env, const json_t *object, const json_t *old,
		     struct api_errors *errs)
{
	(void)env;
	if (old != NULL)
		apiserver_validate_as_new(object, errs);
}

const struct apiserver_strategy apiserver_serviceaccount_strategy = {
	.kind = "ServiceAccount",
	.group = "",
	.validate = validate,
	.counts = apiserver_no_generation,
	.cells = apiserver_cells_plain,
};
