package middleware_test

import (
	"testing"
	"time"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/middleware"
	"github.com/urlget/urlget/fetchtest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func() driver.Middleware{
		"none":       func() driver.Middleware { return func(next driver.Driver) driver.Driver { return next } },
		"PerHost":    func() driver.Middleware { return middleware.PerHost(1) },
		"SpeedLimit": func() driver.Middleware { return middleware.SpeedLimit(1, time.Hour) },
		"RateLimit":  func() driver.Middleware { return middleware.RateLimit(1 << 30) },
	} {
		t.Run(name, func(t *testing.T) { fetchtest.RunMiddleware(t, wrap) })
	}
}
