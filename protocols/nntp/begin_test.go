package nntp

import (
	"errors"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/transcript"
)

const article = "C: ARTICLE <a@b>\nS: 220 1 <a@b>\nS: A: b\nS:\nS: text\nS: .\nC? QUIT\n"

// handshakes are transcripts of session starts. The servers do or do not support CAPABILITIES, and
// serve readers, other servers or both.
var handshakes = map[string]struct {
	talk string // after the greeting
	want error
}{
	"reader server": {
		"C: CAPABILITIES\nS: 101 here\nS: VERSION 2\nS: READER\nS: .\n" + article, nil},
	"RFC 977 server": {
		"C: CAPABILITIES\nS: 500 what\nC: MODE READER\nS: 500 what\n" + article, nil},
	"old server with MODE READER": {
		"C: CAPABILITIES\nS: 500 what\nC: MODE READER\nS: 201 no posting\n" + article, nil},
	"server with MODE READER": {
		"C: CAPABILITIES\nS: 101 here\nS: VERSION 2\nS: mode-reader\nS: .\nC: MODE READER\nS: 200 hi\n" +
			"C: CAPABILITIES\nS: 101 here\nS: VERSION 2\nS: READER\nS: .\n" + article, nil},
	"no readers": {
		"C: CAPABILITIES\nS: 101 here\nS: MODE-READER\nS: .\nC: MODE READER\nS: 502 for servers only\n", fetch.ErrRefused},
	"old server, no readers": {
		"C: CAPABILITIES\nS: 500 what\nC: MODE READER\nS: 502 for servers only\n", fetch.ErrRefused},
	"temporarily unavailable": {
		"C: CAPABILITIES\nS: 500 what\nC: MODE READER\nS: 400 come back later\n", fetch.ErrBusy},
	"closed before the capabilities": {
		"C: CAPABILITIES\nS!close\n", fetch.ErrNetwork},
	"closed in the capabilities": {
		"C: CAPABILITIES\nS: 101 here\nS: VERSION 2\nS!close\n", fetch.ErrNetwork},
	"closed in MODE READER": {
		"C: CAPABILITIES\nS: 101 here\nS: MODE-READER\nS: .\nC: MODE READER\nS!close\n", fetch.ErrNetwork},
	"closed after MODE READER": {
		"C: CAPABILITIES\nS: 101 here\nS: MODE-READER\nS: .\nC: MODE READER\nS: 200 hi\nC: CAPABILITIES\nS!close\n", fetch.ErrNetwork},
}

// TestHandshake checks the commands and errors at the start of a session.
func TestHandshake(t *testing.T) {
	t.Parallel()
	for name, tt := range handshakes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := drive.Client(t, nil, Load)
			body, err := drive.Get(t, c, "news://"+transcript.Play(t, "-- control --\nS: 200 hi\n"+tt.talk)+"/a@b")
			if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if err == nil && body != "A: b\r\n\r\ntext\r\n" {
				t.Errorf("got %q", body)
			}
			c.Close()
		})
	}
}
