package serve_test

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/imapd"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/imap"
	"github.com/urlget/urlget/serve"
)

const picture = "\x89PNG\r\n\x1a\n"

var mail = strings.ReplaceAll(`From: Ann <ann@x.example>
Subject: Pears
Date: Mon, 2 Sep 2024 10:00:00 +0000
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=B

--B
Content-Type: text/plain

The text.
--B
Content-Type: text/html

<p>The page.<img src="http://tracker.test/x.png"><img src="cid:pear%2B1@x"><img src="cid:absent@x"><a href="http://other.test/">link</a>
--B
Content-Type: image/png; name="pear.png"
Content-Transfer-Encoding: base64
Content-Disposition: attachment
Content-ID: <pear+1@x>

`+base64.StdEncoding.EncodeToString([]byte(picture))+`
--B
Content-Type: message/rfc822

Subject: Inner
Content-Type: multipart/mixed; boundary=C

--C

Inner text.
--C
Content-Type: text/html

<img src="cid:pear+1@x"><img src="cid:inner@x">
--C
Content-Type: image/gif
Content-ID: <inner@x>

GIF89a
--C
Content-Type: text/csv; name=t.csv
Content-Transfer-Encoding: quoted-printable

a=2Cb
--C--
--B--
`, "\n", "\r\n")

// readMail lets the client send passwords to the mail servers of tests, which have no TLS.
func (u *user) readMail() {
	u.serve.Client = fetch.New(&fetch.Options{Recorder: serve.Recorder()}, protocols.Without("imap", "imaps"),
		imap.With(imap.Options{AllowPlaintext: true}))
	u.t.Cleanup(func() { u.serve.Client.Close() })
}

// Each part of a message can be read, and a message does not tell its sender that it is read.
func TestPartsOfMessages(t *testing.T) {
	t.Parallel()
	s := imapd.Start(t, imapd.Options{User: "joe", Password: "secret",
		Mailboxes: map[string][]imapd.Message{"INBOX": {{Text: []byte(mail), Date: time.Unix(1e9, 0)}}}})
	u := start(t)
	u.readMail()
	for name, rawURL := range map[string]string{
		"a file":    write(t, "m.eml", mail),
		"a mailbox": "imap://joe;AUTH=*:secret@" + s.Addr + "/INBOX/;UID=1",
	} {
		t.Run(name, func(t *testing.T) {
			p := u.open(rawURL)
			p.want(t, http.StatusOK, "The text.", "text/html", "image/png, 8 B", "pear.png", "message/rfc822")
			if got := u.get(p.find(t, "/content?", "p=3")); got.text != picture || got.header.Get("Content-Type") != "image/png" {
				t.Errorf("the picture is %q of type %s", got.text, got.header.Get("Content-Type"))
			}
			download := u.get(p.find(t, "/download?", "p=3"))
			if got := download.header.Get("Content-Disposition"); got != "attachment; filename=pear.png" || download.text != picture {
				t.Errorf("downloaded %q as %s", download.text, got)
			}
			html := u.get(p.find(t, "/view?", "p=2"))
			html.want(t, http.StatusOK, "<iframe")
			frame := u.get(html.find(t, "/content?"))
			frame.want(t, http.StatusOK, "The page.", "/view?")
			frame.without(t, "tracker.test")
			if got := u.get(frame.find(t, "/content?", "p=x706561722b314078")); got.text != picture || got.header.Get("Content-Type") != "image/png" {
				t.Errorf("the picture of the page is %q", got.text)
			}
			u.get(frame.find(t, "/content?", "p=x616273656e744078")).want(t, http.StatusNotFound)
			inner := u.get(p.find(t, "/view?", "p=4"))
			inner.want(t, http.StatusOK, "Inner text.", "t.csv")
			innerFrame := u.get(u.get(inner.find(t, "/view?", "p=4.2")).find(t, "/content?"))
			u.get(innerFrame.find(t, "/content?", "p=4.x696e6e65724078")).want(t, http.StatusOK, "GIF89a")
			u.get(innerFrame.find(t, "/content?", "p=4.x706561722b314078")).want(t, http.StatusNotFound) // of the outer message
			u.get(inner.find(t, "/view?", "p=4.4")).want(t, http.StatusOK, "a,b")
			for _, path := range []string{"5", "0", "x", "1.1", "4.5", "4.4.1", "x", "x00", "xzz", "4.4.4.4.4.4.4.4.4.4"} {
				u.get(strings.Replace(p.find(t, "/view?", "p=3"), "p=3", "p="+path, 1)).want(t, http.StatusNotFound)
			}
		})
	}
}

func TestTextMessagesHaveNoListOfParts(t *testing.T) {
	t.Parallel()
	p := start(t).open(write(t, "m.eml", "Subject: a\n\nThe text.\n"))
	p.want(t, http.StatusOK, "The text.")
	p.without(t, "h-parts")
}

// The date is that of the message, not of its arrival.
func TestMailboxesSayWhoWroteAndWhatIsUnread(t *testing.T) {
	t.Parallel()
	s := imapd.Start(t, imapd.Options{User: "joe", Password: "secret",
		Mailboxes: map[string][]imapd.Message{"INBOX": {{Text: []byte(mail), Date: time.Unix(1e9, 0)}}}})
	u := start(t)
	u.readMail()
	p := u.open("imap://joe;AUTH=*:secret@" + s.Addr + "/INBOX")
	p.want(t, http.StatusOK, "Unread: ", "Pears", "Ann &lt;ann@x.example&gt;", "2024-09-02 10:00", " bytes\"")
}

// The parts of a message that is shown, and its pictures, need no further request.
func TestPartsOfAShownMessageAreNotRetrievedAgain(t *testing.T) {
	t.Parallel()
	var gone atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if gone.Load() {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "message/rfc822")
		io.WriteString(w, mail)
	}))
	t.Cleanup(s.Close)
	u := start(t)
	p := u.open(s.URL)
	direct := u.get(strings.Replace(p.url, "/view?", "/view?p=2&", 1)) // typed: the message is retrieved for it
	gone.Store(true)
	html := u.get(p.find(t, "/view?", "p=2"))
	html.want(t, http.StatusOK, "<iframe")
	if got := u.get(u.get(html.find(t, "/content?")).find(t, "/content?", "p=x706561722b314078")); got.text != picture {
		t.Errorf("the picture is %q", got.text)
	}
	gone.Store(false)
	if got := u.get(u.get(direct.find(t, "/content?")).find(t, "/content?", "p=x706561722b314078")); got.text != picture {
		t.Errorf("the picture is %q", got.text)
	}
}
