package download_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
)

func TestExistsTextRoundTrip(t *testing.T) {
	t.Parallel()
	for e, want := range map[download.Exists]string{
		download.NewName: "new_name", download.Overwrite: "overwrite", download.Skip: "skip",
		download.Resume: "resume", download.Newer: "newer",
	} {
		text, err := e.MarshalText()
		var back download.Exists
		if err != nil || string(text) != want || back.UnmarshalText(text) != nil || back != e {
			t.Errorf("%d: %q, %v, and back %d", e, text, err, back)
		}
	}
	if text, err := download.Exists(9).MarshalText(); !strings.Contains(fmt.Sprint(err), "invalid value 9") {
		t.Errorf("%q, %v", text, err)
	}
	if err := new(download.Exists).UnmarshalText([]byte("perhaps")); !strings.Contains(fmt.Sprint(err), `invalid value "perhaps"`) {
		t.Error(err)
	}
}

func TestKnownJSONRoundTrip(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for want, k := range map[string]download.Known{
		`{}`:         {Size: -1},
		`{"size":0}`: {},
		`{"size":5,"etag":"x","mtime":"2026-03-04T05:06:07Z"}`: {Size: 5, Validator: fetch.Validator{ETag: "x", ModTime: day}},
	} {
		text, err := json.Marshal(k)
		if err != nil || string(text) != want {
			t.Errorf("%s, %v, want %s", text, err, want)
		}
		var back download.Known
		if err := json.Unmarshal(text, &back); err != nil || back != k {
			t.Errorf("%s: %+v, %v", text, back, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"size":"x"}`), new(download.Known)); !strings.Contains(fmt.Sprint(err), "size of type int64") {
		t.Error(err)
	}
}
