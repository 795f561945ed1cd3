package middleware_test

import (
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/middleware"
	"github.com/urlget/urlget/fetchtest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func() fetch.Middleware{
		"none":       func() fetch.Middleware { return func(next fetch.Driver) fetch.Driver { return next } },
		"PerHost":    func() fetch.Middleware { return middleware.PerHost(1) },
		"SpeedLimit": func() fetch.Middleware { return middleware.SpeedLimit(1, time.Hour) },
		"RateLimit":  func() fetch.Middleware { return middleware.RateLimit(1 << 30) },
	} {
		t.Run(name, func(t *testing.T) { fetchtest.RunMiddleware(t, wrap) })
	}
}
