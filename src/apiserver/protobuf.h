/* Limits of protobuf bodies. */
#pragma once

enum {
	APISERVER_PROTOBUF_DEPTH_MAX = 32,
	/* Values of one object: two bytes of a body may stand for an empty object, which takes a
	 * hundred here. */
	APISERVER_PROTOBUF_VALUES_MAX = 200000,
};
