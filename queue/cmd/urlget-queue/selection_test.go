package main

import (
	"testing"
	"time"
)

func TestSelections(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name string
		s    selection
		want bool
	}{
		{"all", selection{}, true},
		{"the whole URL", selection{url: "http://h.example/a/b.txt"}, true},
		{"a part of the URL", selection{url: "http://h.example/a"}, false},
		{"a beginning", selection{url: "http://h.example/*"}, true},
		{"an end", selection{url: "*.txt"}, true},
		{"a middle", selection{url: "*example*b*"}, true},
		{"not in this order", selection{url: "*b.txt*a/*"}, false},
		{"any text", selection{url: "*"}, true},
		{"an overlap", selection{url: "http://h.example/a/b.txt*.txt"}, false},
		{"the host", selection{host: "H.example"}, true},
		{"another host", selection{host: "example"}, false},
		{"the class", selection{class: "network"}, true},
		{"another class", selection{class: "tls"}, false},
		{"the worker", selection{worker: "w1"}, true},
		{"another worker", selection{worker: "w2"}, false},
		{"since then", selection{since: "2026-01-31T12:00:00Z"}, true},
		{"since later", selection{since: "2026-01-31T12:00:01Z"}, false},
		{"in the last hour", selection{since: "1h"}, false},
		{"all of them", selection{url: "*", host: "h.example", class: "network", worker: "w1", since: "2026-01-01"}, true},
	} {
		if err := tt.s.check(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if got := tt.s.has("http://h.example/a/b.txt", "network", "w1", at); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if err := (&selection{since: "yesterday"}).check(); err == nil {
		t.Error("a time was accepted")
	}
}
