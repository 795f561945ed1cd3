package queue

import (
	"context"

	"github.com/urlget/urlget/crawl/robots"
)

// WithNames lets a store make only files that have names.
func WithNames(d *Dir) { d.nameless = false }

// ShareRules is what lets workers share the robots.txt files of servers.
func ShareRules(e Engine, agent string) func(context.Context, string, func(context.Context) (*robots.Rules, error)) (*robots.Rules, error) {
	return (&sharedRules{e, agent}).rules
}
