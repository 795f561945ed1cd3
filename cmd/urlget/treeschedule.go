package main

import (
	"time"

	"github.com/urlget/urlget/crawl/schedule"
)

// treeSchedule returns how much of a tree is retrieved at once.
func (g *getter) treeSchedule(seeds []seed) schedule.Options {
	m := &g.opts.Many
	most := 0
	for _, s := range seeds {
		most = max(most, hostLimit(m, s.url.Scheme()))
	}
	return schedule.Options{
		Parallel:    int(m.Jobs),
		Host:        schedule.Limits{Parallel: most, Delay: time.Duration(m.Wait)},
		RandomDelay: m.RandomWait,
		MaxPause:    time.Duration(g.opts.Network.RetryWait),
	}
}
