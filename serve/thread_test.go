package serve_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetchtest/servers/imapd"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
)

var postHead = regexp.MustCompile(`<section class="post d(\d)" aria-label="([^,"]*)`)

func TestThreadsAreReadOnOnePage(t *testing.T) {
	t.Parallel()
	post := func(id int, parents, body string) nntpd.Article {
		return nntpd.Article{ID: fmt.Sprintf("<%d@x>", id), Text: fmt.Sprintf("From: \"N%d\" <a@x>\nNewsgroups: x.y\nSubject: Pears\nDate: Tue, 20 Dec 1994 12:00:00 +0000\n"+
			"Message-ID: <%d@x>\n%s\n%s\n", id, id, parents, body)}
	}
	list := []nntpd.Article{post(1, "", "Which <b>?"), post(2, "References: <1@x>\n", "> Which\n> two\n\nConference.\n> one"), post(9, "", "Another thread.")}
	for i := 3; i < 8; i++ {
		list = append(list, post(i, fmt.Sprintf("References: <%d@x>\n", i-1), "Reply."))
	}
	n := nntpd.Start(t, nntpd.Options{Groups: []nntpd.Group{{Name: "x.y", Articles: list}}})
	u := start(t)
	group := u.open("news://" + n.Addr + "/x.y")
	p := u.get(group.find(t, "/thread?", "1@x"))
	p.want(t, http.StatusOK, "<h1>Pears</h1>", "Which &lt;b&gt;?", "<details class=\"fold\"><summary>&gt; Which\n</summary><pre class=\"document quoted\"><span class=\"quoted\">&gt; two\n</span></pre></details>", "Conference.", `<span class="quoted">&gt; one`)
	p.without(t, "Another thread.")
	var got []string
	for _, m := range postHead.FindAllStringSubmatch(p.text, -1) {
		got = append(got, m[1]+m[2])
	}
	if want := "0N1 1N2 2N3 3N4 4N5 4N6 4N7"; strings.Join(got, " ") != want {
		t.Errorf("the articles are %q, want %s", got, want)
	}
	article := u.get(p.find(t, "/view?", "2@x"))
	article.want(t, http.StatusOK, "Conference.", ">7 articles</a>")
	u.get(article.find(t, "/thread?", "2@x")).want(t, http.StatusOK, "Which &lt;b&gt;?")
	u.get(group.find(t, "/view?", "9@x")).without(t, "articles</a>", "/thread?")
	inner := strings.Replace(group.find(t, "/view?", "5@x"), "/view?", "/thread?", 1)
	u.get(inner).want(t, http.StatusOK, "Which &lt;b&gt;?") // the thread of any of its articles
	alone := strings.Replace(group.find(t, "/view?", "9@x"), "/view?", "/thread?", 1)
	u.get(alone).want(t, http.StatusOK, "<h1>x.y") // no thread: back to the group
	u.get(strings.Replace(inner, "s=", "s=x", 1)).want(t, http.StatusForbidden, "not signed")
}

func TestThreadsWithAMissingArticle(t *testing.T) {
	t.Parallel()
	n := nntpd.Start(t, nntpd.Options{Groups: []nntpd.Group{{Name: "x.y", Articles: []nntpd.Article{
		{ID: "<1@x>", Text: "From: a\nNewsgroups: x.y\nSubject: Pears\nMessage-ID: <1@x>\n\n" + strings.Repeat("long\n", 20_000)},
		{ID: "<2@x>", Text: "From: b\nNewsgroups: x.y\nSubject: Re: Pears\nReferences: <1@x>\nMessage-ID: <2@x>\n\nThe reply.\n"}}}}})
	u := start(t)
	thread := u.open("news://"+n.Addr+"/x.y").find(t, "/thread?", "1@x")
	p := u.get(thread)
	p.want(t, http.StatusOK, "All of the message", "The reply.")
	if len(p.text) > 100<<10 {
		t.Errorf("the page has %d bytes", len(p.text))
	}
	n.Close()
	u.get(thread).want(t, http.StatusOK, "Incomplete: ")
}

func TestMailboxesHaveThreads(t *testing.T) {
	t.Parallel()
	letter := func(id, more string) imapd.Message {
		return imapd.Message{Text: []byte("From: N" + id + " <a@x>\r\nSubject: Pears\r\nMessage-ID: <" + id + "@x>\r\n" + more + "\r\nThe text of " + id + ".\r\n"), Date: time.Unix(1e9, 0)}
	}
	s := imapd.Start(t, imapd.Options{User: "joe", Password: "secret",
		Mailboxes: map[string][]imapd.Message{"INBOX": {letter("1", ""), letter("2", "In-Reply-To: <1@x> (of Monday)\r\n"), letter("3", "")}}})
	u := start(t)
	u.readMail()
	box := u.open("imap://joe;AUTH=*:secret@" + s.Addr + "/INBOX")
	box.want(t, http.StatusOK, `<li class="entry d1 unread">`, "1 reply<")
	p := u.get(box.find(t, "/thread?"))
	p.want(t, http.StatusOK, "The text of 1.", "The text of 2.")
	p.without(t, "The text of 3.")
}
