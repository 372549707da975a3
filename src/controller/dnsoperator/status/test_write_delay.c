/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What waits, and that it does not wait for ever. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "base/clock.h"
#include "controller/dnsoperator/status/write_delay.h"

static void status_waits_a_moment(void **state)
{
	(void)state;
	struct dnsoperator_write_delay p = { 0 };
	uint64_t t = 50 * NS_PER_S;
	assert_int_equal(dnsoperator_write_delay_status(&p, false, t), 0);
	dnsoperator_write_delay_wrote(&p, t);
	assert_int_equal(dnsoperator_write_delay_status(&p, false, t), 300 * NS_PER_MS);
	/* changes that do not stop do not put it off */
	t += 200 * NS_PER_MS;
	dnsoperator_write_delay_wrote(&p, t);
	assert_int_equal(dnsoperator_write_delay_status(&p, false, t), 100 * NS_PER_MS);
	t += 100 * NS_PER_MS;
	assert_int_equal(dnsoperator_write_delay_status(&p, false, t), 0);
	/* written: nothing to wait for until the next Corefile */
	assert_int_equal(dnsoperator_write_delay_status(&p, false, t), 0);
	dnsoperator_write_delay_wrote(&p, t);
	assert_int_equal(dnsoperator_write_delay_status(&p, true, t), 0);
	assert_int_equal(dnsoperator_write_delay_status(&p, false, t), 0);
}

static void backup_waits_for_a_pause(void **state)
{
	(void)state;
	struct dnsoperator_write_delay p = { 0 };
	uint64_t t = 50 * NS_PER_S;
	assert_int_equal(dnsoperator_write_delay_backup(&p, t), 0);
	for (int i = 0; i < 3; i++) {
		dnsoperator_write_delay_wrote(&p, t);
		t += 400 * NS_PER_MS;
		assert_int_equal(dnsoperator_write_delay_backup(&p, t), 600 * NS_PER_MS);
	}
	assert_int_equal(dnsoperator_write_delay_backup(&p, t + 600 * NS_PER_MS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(status_waits_a_moment),
					    cmocka_unit_test(backup_waits_for_a_pause) };
	return cmocka_run_group_tests_name("controller/dnsoperator/pace", tests, NULL, NULL);
}
