package main

import (
	"time"

	"github.com/urlget/urlget/crawl/schedule"
)

// treeSchedule returns how much of a tree is retrieved at once.
func (a *app) treeSchedule() schedule.Options {
	m := &a.set.many
	most := 0
	for _, s := range a.seeds {
		most = max(most, m.hostLimit(s.url.Scheme()))
	}
	return schedule.Options{
		Parallel:    int(m.jobs),
		Host:        schedule.Limits{Parallel: most, Delay: time.Duration(m.wait)},
		RandomDelay: m.randomWait,
		MaxPause:    time.Duration(a.set.retryWait),
	}
}
