package mailto

import (
	"errors"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
)

func TestGetWithoutMailboxes(t *testing.T) {
	t.Parallel()
	c := fetch.New(nil, Load)
	for url, want := range map[string]string{
		"mailto:a%25b@x.invalid":            "a%b@x.invalid",
		"mailto:a@x.invalid,b@x.invalid":    "a@x.invalid, b@x.invalid",
		"mailto:?to=a@x.invalid&subject=hi": "a@x.invalid",
		"mailto:?subject=hi":                "draft of a message",
	} {
		_, err := c.Get(t.Context(), url)
		var e *fetch.Error
		if !errors.As(err, &e) || e.Code != fetch.ErrNotRetrievable || !strings.Contains(err.Error(), want) || e.Hint == "" {
			t.Errorf("%s: %v", url, err)
		}
	}
	if _, err := c.Get(t.Context(), "mailto:a%0D%0AB@x"); !errors.Is(err, fetch.ErrURL) {
		t.Errorf("line end in an address: %v", err)
	}
	if s := c.Schemes()[0]; s.State() != "names_only" {
		t.Errorf("state %q", s.State())
	}
}

func TestListing(t *testing.T) {
	t.Parallel()
	mbox := filepath.Join(t.TempDir(), "mbox")
	var b strings.Builder
	for _, head := range []string{
		"From: Who <who@where.invalid>\nMessage-ID: <1@x>\nSubject: one\nDate: Sat, 29 Feb 2020 12:34:56 +0000\n",
		"To: a@x, WHO@Where.invalid\nMessage-ID: <2@x>\nSubject: =?utf-8?q?zw=C3=B6?=\n",
		"Cc: undisclosed who@where.invalid;\n",
		"From: notwho@where.invalid\nMessage-ID: <4@x>\n",
		"From: who@where.invalid.example\nMessage-ID: <5@x>\n",
		"Subject: who@where.invalid\nMessage-ID: <6@x>\n",
	} {
		b.WriteString("From x\n" + head + "\nhello\n\n")
	}
	if err := os.WriteFile(mbox, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	c := fetch.New(nil, With(Options{Mailboxes: []string{mbox}}))
	var got []string
	for _, e := range drive.MustList(t, c, "mailto:who@where.invalid") {
		got = append(got, e.URL.String()+" "+e.Name)
	}
	if want := []string{"mid:1@x one", "mid:2@x zwö", " "}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	resp, err := c.Get(t.Context(), "mailto:who@where.invalid")
	if err != nil || resp.Kind != fetch.KindListing {
		t.Fatal(resp, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || !strings.HasPrefix(string(body), "<1@x>\t2020-02-29T12:34:56Z\tWho <who@where.invalid>\tone\n") || strings.Count(string(body), "\n") != 3 {
		t.Errorf("got %q, %v", body, err)
	}
}

func TestDraft(t *testing.T) {
	old := now
	now = func() time.Time { return time.Date(2020, 2, 29, 12, 34, 56, 0, time.UTC) }
	defer func() { now = old }()
	draft := func(url string) string {
		t.Helper()
		u, err := uri.Parse(url)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Draft(u)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	const tail = "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n"
	const date = "Date: Sat, 29 Feb 2020 12:34:56 +0000\r\n"
	for url, want := range map[string]string{
		"mailto:a@x.invalid":                              date + "To: a@x.invalid\r\n" + tail + "\r\n",
		"mailto:a@x.invalid,b@x.invalid?cc=c@x,d@x":       date + "To: a@x.invalid,\r\n b@x.invalid\r\nCc: c@x,\r\n d@x\r\n" + tail + "\r\n",
		"mailto:a@x?subject=hi%20there&body=one%0D%0Atwo": date + "To: a@x\r\nSubject: hi there\r\n" + tail + "\r\none\r\ntwo\r\n",
		"mailto:a@x?From=evil@x&Date=never&x-y=z":         date + "To: a@x\r\n" + tail + "\r\n",
	} {
		if got := draft(url); got != want {
			t.Errorf("%s: got %q, want %q", url, got, want)
		}
	}

	msg, err := mail.ReadMessage(strings.NewReader(draft("mailto:a@x?subject=" + strings.Repeat("Gr%C3%BC%C3%9Fe%20", 30) + "&body=caf%C3%A9")))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(msg.Header.Get("Subject"))
	if want := strings.TrimSpace(strings.Repeat("Grüße ", 30)); err != nil || strings.TrimSpace(subject) != want {
		t.Errorf("subject %q, %v", subject, err)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(msg.Body))
	if err != nil || string(body) != "café\r\n" {
		t.Errorf("body %q, %v", body, err)
	}
	for line := range strings.SplitSeq(draft("mailto:a@x?subject="+strings.Repeat("word%20", 50)+"&body="+strings.Repeat("x", 2000)), "\r\n") {
		if len(line) > 78 {
			t.Errorf("line of %d bytes: %q", len(line), line)
		}
	}
	for _, url := range []string{"mailto:a@x?subject=a%0D%0ABcc:b@x", "mailto:a%0Ab@x"} {
		got, err := Draft(uri.MustParse(url))
		if code, _ := fetch.Classify(err); code != fetch.ErrURL {
			t.Errorf("%s: got %q, error %v", url, got, err)
		}
	}
}
