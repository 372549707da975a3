/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as an IXFR question. */
#include "plugin/shared/ixfrserial.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	uint32_t serial;
	IGNORE(ixfrserial_read(data, n, &serial));
	return 0;
}
