/* SPDX-License-Identifier: Apache-2.0 */
/* nashbed-flows: the kernel-TCP flow generator and its sink. See README.md. */
#include "common/events.h"
#include "config.h"
#include "descriptors.h"
#include "layouts.h"
#include "options.h"
#include "sender.h"
#include "sink.h"

static int
run_role(const struct config *config, struct failure *failure)
{
	if (descriptors_reserve(config->flow_count, failure) < 0)
		return -1;
	return config->role == ROLE_SENDER ? sender_run(config, failure) :
					     sink_run(config, failure);
}

static int
run_config(const struct options *options, struct failure *failure)
{
	struct config config;
	int status = config_load(&config, options->config_path, failure);

	if (status == 0)
		status = options->check ? config_print(&config, stdout, failure) :
					  run_role(&config, failure);
	config_free(&config);
	return status;
}

static int
act(const struct options *options, struct failure *failure)
{
	if (options->help) {
		options_print_help();
		return EXIT_STATUS_OK;
	}
	return options->layouts ? layouts_print(stdout, failure) : run_config(options, failure);
}

int
main(int argc, char **argv)
{
	struct failure failure = {0};
	struct options options;
	int status = options_parse(&options, argv, &failure);

	(void)argc;
	if (status == 0)
		status = act(&options, &failure);
	return status >= 0 ? status : event_print_failure(&failure, "nashbed-flows");
}
