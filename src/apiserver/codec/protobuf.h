/* Limits of protobuf bodies. */
#pragma once

enum {
	/* Values of one object: two bytes of a body may stand for an empty object, which takes a
	 * hundred here. */
	APISERVER_PROTOBUF_VALUES_MAX = 200000,
};
