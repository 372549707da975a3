/* SPDX-License-Identifier: GPL-3.0-or-later */
/* New IPAddresses, and their label with the name of the Cluster, also on those that are repaired. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "api/machine/nameservers.h"
#include "api/meta.h"
#include "base/mem.h"
#include "controller/ipam/address_object.h"

#define L63 "c23456789012345678901234567890123456789012345678901234567890123"

static const struct {
	const char *cluster, *cluster_label; /* of the claim */
	const char *label;		     /* of the address; NULL: none */
} labels[] = {
	{ "", "", NULL },
	{ "", "prod", "prod" },
	{ "prod", "", "prod" },
	{ "prod", "prod", "prod" },
	{ L63, "", L63 },
	{ L63 "4", "", NULL }, /* no label can hold it: the API would refuse the address */
};

static const struct api_kind address_kind = { .group = IPAM_GROUP,
					      .version = "v1beta2",
					      .kind = "IPAddress" };
static const struct api_kind claim_kind = { .group = IPAM_GROUP,
					    .version = "v1beta2",
					    .kind = "IPAddressClaim" };

static json_t *make_pool(void)
{
	return json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", IPAM_GROUP "/v1alpha2", "kind",
			 IPAM_POOL_KIND, "metadata", "name", "pool", "uid", "pool-uid");
}

static struct ipam_claim make_claim(size_t row)
{
	bool has_label = labels[row].cluster_label[0] != '\0';
	struct ipam_claim claim;
	memset(&claim, 0, sizeof(claim)); /* a uid as text: its other bytes are 0 */
	claim.o.ns = "ns";
	claim.o.name = "a";
	claim.uid.text = "claim-uid";
	claim.pool_name = "pool";
	claim.pool_kind = IPAM_NAMESPACED_POOL;
	claim.cluster = has_label ? labels[row].cluster_label : labels[row].cluster;
	claim.has_cluster_label = has_label;
	return claim;
}

/* The address that a claim gets, read from its text. */
static json_t *make_address(const struct ipam_address_input *input)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	ipam_write_address(&text, input);
	json_t *address = json_loadb(text.s, text.n, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(address);
	return address;
}

static void assert_label(const json_t *address, const char *expected)
{
	const json_t *found =
		json_object_get(api_get(address, "metadata.labels"), IPAM_CLUSTER_LABEL);
	if (expected == NULL)
		assert_null(found);
	else
		assert_string_equal(api_text(found), expected);
}

static void label_table(void **state)
{
	(void)state;
	json_t *pool = make_pool();
	for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
		struct ipam_claim claim = make_claim(i);
		json_t *address =
			make_address(&(struct ipam_address_input){ .kind = &address_kind,
								   .claim_kind = &claim_kind,
								   .claim = &claim,
								   .pool = pool,
								   .number = 0x0a00000a,
								   .family = AF_INET,
								   .prefix = 24 });
		assert_label(address, labels[i].label);
		assert_false(ipam_repair_address(address, &claim_kind, &claim, pool));
		json_object_del(json_object_get(address, "metadata"), "labels");
		assert_int_equal(ipam_repair_address(address, &claim_kind, &claim, pool),
				 labels[i].label != NULL);
		assert_label(address, labels[i].label);
		json_decref(address);
	}
	json_decref(pool);
}

/* CT-3, PR-6, PR-7: all that an address has, and texts that need escapes. */
static void address_is_whole(void **state)
{
	(void)state;
	static const char want[] =
		"{'apiVersion': '" IPAM_GROUP "/v1beta2', 'kind': 'IPAddress', 'metadata': {"
		"'name': 'a', 'namespace': 'ns',"
		"'annotations': {'" MACHINE_NAMESERVERS_ANNOTATION "':"
		"'{\\\"addresses\\\":[\\\"10.0.0.53\\\"]}'},"
		"'ownerReferences': [{'apiVersion': '" IPAM_GROUP "/v1beta2',"
		"'kind': 'IPAddressClaim', 'name': 'a', 'uid': 'claim-uid',"
		"'controller': true, 'blockOwnerDeletion': true},"
		"{'apiVersion': '" IPAM_GROUP "/v1alpha2',"
		"'kind': '" IPAM_POOL_KIND "', 'name': 'pool', 'uid': 'pool-uid',"
		"'controller': false, 'blockOwnerDeletion': true}],"
		"'finalizers': ['" IPAM_ADDRESS_FINALIZER "']},"
		"'spec': {'claimRef': {'name': 'a'}, 'poolRef': {'apiGroup': '" IPAM_GROUP "',"
		"'kind': '" IPAM_POOL_KIND "', 'name': 'pool'},"
		"'address': 'fd00::a', 'prefix': 64, 'gateway': '\\\"\\\\\\n',"
		"'nameservers': {'addresses': ['10.0.0.53']}}}";
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	json_t *pool = make_pool();
	json_t *nameservers = json_pack("{s:[s]}", "addresses", "10.0.0.53");
	json_object_set_new(pool, "spec", json_pack("{s:s}", "gateway", "\"\\\n"));
	struct ipam_claim claim = make_claim(0);
	for (const char *p = want; *p != '\0'; p++)
		strbuf_addc(&text, *p == '\'' ? '"' : *p);
	json_t *wanted = json_loads(text.s, 0, NULL);
	json_t *address = make_address(
		&(struct ipam_address_input){ .kind = &address_kind,
					      .claim_kind = &claim_kind,
					      .claim = &claim,
					      .pool = pool,
					      .number = ((net_ip_number)0xfd00 << 112) + 10,
					      .family = AF_INET6,
					      .prefix = 64,
					      .nameservers = nameservers,
					      .annotated = true });
	assert_non_null(wanted);
	assert_true(json_equal(address, wanted));
	json_decref(address);
	json_decref(wanted);
	json_decref(nameservers);
	json_decref(pool);
}

/* IP-13: lists without entries count as none, and no address has them. */
static void empty_lists_count_as_none(void **state)
{
	static const struct {
		const char *own;     /* spec.nameservers of the pool */
		const char *written; /* NULL: the pool has none, the default counts */
	} rows[] = {
		{ "{}", NULL },
		{ "{\"addresses\":[]}", NULL },
		{ "{\"addresses\":[],\"search\":[]}", NULL },
		{ "{\"addresses\":null,\"search\":null}", NULL },
		{ "{\"search\":[\"a.example\"]}", "{\"search\":[\"a.example\"]}" },
		{ "{\"search\":[\"a.example\"],\"addresses\":[]}", "{\"search\":[\"a.example\"]}" },
		{ "{\"search\":[],\"addresses\":[\"10.0.0.1\"]}",
		  "{\"addresses\":[\"10.0.0.1\"]}" },
		{ "{\"search\":[\"a.example\"],\"addresses\":[\"10.0.0.1\"]}",
		  "{\"addresses\":[\"10.0.0.1\"],\"search\":[\"a.example\"]}" },
	};
	json_t *otherwise = json_pack("{s:[], s:[s]}", "search", "addresses", "10.0.0.53");
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_t *pool = make_pool();
		json_object_set_new(
			pool, "spec",
			json_pack("{s:o}", "nameservers", json_loads(rows[i].own, 0, NULL)));
		const json_t *found = ipam_pool_nameservers(pool, otherwise);
		CLEANUP(freep) char *text = ipam_nameservers_text(found);
		assert_int_equal(found == otherwise, rows[i].written == NULL);
		assert_string_equal(text, rows[i].written != NULL
						  ? rows[i].written
						  : "{\"addresses\":[\"10.0.0.53\"]}");
		json_decref(pool);
	}
	json_t *pool = make_pool();
	struct ipam_claim claim = make_claim(0);
	json_t *address = make_address(&(struct ipam_address_input){ .kind = &address_kind,
								     .claim_kind = &claim_kind,
								     .claim = &claim,
								     .pool = pool,
								     .family = AF_INET,
								     .nameservers = otherwise });
	assert_int_equal(json_object_size(api_get(address, "spec.nameservers")), 1);
	assert_null(api_annotation(address, MACHINE_NAMESERVERS_ANNOTATION));
	json_decref(address);
	json_decref(pool);
	json_decref(otherwise);
}

/* IP-11: an address without name servers says so, or else it would follow its pool. */
static void none_is_recorded(void **state)
{
	(void)state;
	json_t *pool = make_pool();
	struct ipam_claim claim = make_claim(0);
	json_t *address = make_address(&(struct ipam_address_input){ .kind = &address_kind,
								     .claim_kind = &claim_kind,
								     .claim = &claim,
								     .pool = pool,
								     .family = AF_INET });
	assert_null(api_get(address, "spec.nameservers"));
	assert_string_equal(api_annotation(address, MACHINE_NAMESERVERS_ANNOTATION), "{}");
	json_decref(address);
	json_decref(pool);
}

/* What somebody else has put there stays. */
static void other_labels_stay(void **state)
{
	(void)state;
	json_t *pool = make_pool();
	struct ipam_claim claim = make_claim(1);
	json_t *address =
		json_pack("{s:{s:s, s:{s:s}}}", "metadata", "name", "a", "labels", "team", "x");
	assert_true(ipam_repair_address(address, &claim_kind, &claim, pool));
	assert_label(address, "prod");
	assert_string_equal(api_get_string(address, "metadata.labels.team"), "x");
	json_object_set_new(api_tree(api_get(address, "metadata.labels")), IPAM_CLUSTER_LABEL,
			    json_string("other"));
	assert_false(ipam_repair_address(address, &claim_kind, &claim, pool));
	assert_label(address, "other");
	json_decref(address);
	json_decref(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(label_table),
		cmocka_unit_test(address_is_whole),
		cmocka_unit_test(empty_lists_count_as_none),
		cmocka_unit_test(none_is_recorded),
		cmocka_unit_test(other_labels_stay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
