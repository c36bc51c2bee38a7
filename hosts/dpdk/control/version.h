/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NASHBED_VERSION_H
#define NASHBED_VERSION_H

#define NASHBED_VERSION "0.1.0"

#endif
