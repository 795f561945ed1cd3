package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/internal/render"
)

// A class is a class of errors, and a row of docs/messages.md.
type class struct {
	code          fetch.Code
	meaning, page string
}

var classes = []class{
	{fetch.ErrURL, "the text is not a URL of its scheme", "schemes.md"},
	{fetch.ErrRequest, "the scheme has no such request, such as a range or a form", "schemes.md"},
	{fetch.ErrScheme, "urlget does not know the scheme", "schemes.md"},
	{fetch.ErrNoServer, "the URL has no host, and none is set", "configuration.md#environment"},
	{fetch.ErrNotRetrievable, "the URL names something else, such as a telephone number", "schemes.md"},
	{fetch.ErrInteractive, "a session, without a terminal or input", "schemes.md"},
	{fetch.ErrNeedSearch, "write the words into the URL", "schemes.md"},
	{fetch.ErrNeedForm, "the message names the questions", "forms.md"},
	{fetch.ErrPolicy, "urlget sent nothing", "faq.md#what-does-refused-by-policy-mean"},
	{fetch.ErrNetwork, "no connection, or it broke", "reliability.md"},
	{fetch.ErrTLS, "no TLS, or a certificate that is not trusted", "tls.md"},
	{fetch.ErrAuth, "no login, or the wrong one", "logins.md"},
	{fetch.ErrNotFound, "the server does not have it", "mirror.md"},
	{fetch.ErrRefused, "the server does not permit it", "logins.md"},
	{fetch.ErrBusy, "try later; urlget waits as long as the server says", "reliability.md"},
	{fetch.ErrServer, "the server failed; urlget tries again", "reliability.md"},
	{fetch.ErrProtocol, "the reply is not of the protocol: another service, or a broken server", "schemes.md"},
	{fetch.ErrRedirect, "a loop, too many redirects, or one to an invalid URL", "flags.md#--max-redirect"},
	{fetch.ErrRange, "the file is shorter than the range", "flags.md#--range"},
	{fetch.ErrNotModified, "the copy is up to date; this is a success", "mirror.md"},
	{fetch.ErrTruncated, "the connection ended early, and all tries did",
		"faq.md#the-download-broke-off-how-do-i-continue-it"},
	{fetch.ErrChanged, "another version on the server than the one begun", "reliability.md"},
	{fetch.ErrChecksum, "the content differs from its digest; the file is not kept", "reliability.md#digests"},
	{fetch.ErrTooLarge, "larger than `--max-size` or a limit of the scheme", "limits.md"},
	{fetch.ErrFile, "a local file or directory", "configuration.md"},
	{fetch.ErrInterrupted, "Ctrl-C or a signal; `-c` resumes", "flags.md#--continue"},
}

// A reasonRow is an error with a reason as the library makes it, and its page.
type reasonRow struct {
	kind       fetch.ReasonKind
	code       fetch.Code
	text, hint string
	page       string
}

var reasonRows = []reasonRow{
	{fetch.ReasonPort, fetch.ErrPolicy, "port 25 belongs to another service", "", "flags.md#--allow-port"},
	{fetch.ReasonPrivate, fetch.ErrPolicy, "http://h.example/ led to the private address 10.0.0.1", "",
		"flags.md#--allow-private"},
	{fetch.ReasonLocal, fetch.ErrPolicy, "the remote resource http://h.example/ may not lead to local ones", "",
		"faq.md#what-does-refused-by-policy-mean"},
	{fetch.ReasonNotData, fetch.ErrPolicy, "http://h.example/ leads to a x-s URL, which is not followed",
		"", "schemes.md"},
	{fetch.ReasonRedirect, fetch.ErrPolicy, "http://h.example/ redirects to a x-s URL, which is not followed",
		"", "flags.md#--allow-redirect"},
	{fetch.ReasonNoDriver, fetch.ErrScheme, `"x-s" is not registered`, "", "external-drivers.md"},
	{fetch.ReasonPlaintext, fetch.ErrAuth, "the password would be sent in plaintext", "use ldaps or StartTLS",
		"logins.md"},
	{fetch.ReasonNoLogin, fetch.ErrAuth, "the server requires a login", "", "logins.md"},
	{fetch.ReasonAccount, fetch.ErrAuth, "the login",
		"the server requires an account in addition to the user name", "flags.md#--ftp-account"},
	{fetch.ReasonNewsServer, fetch.ErrNoServer, "the URL has no news server, and none is configured",
		"set the news server in the options, $NNTPSERVER or /etc/news/server", "flags.md#--news-server"},
	{fetch.ReasonGateway, fetch.ErrNoServer, "no IPFS gateway is configured",
		"set the gateway in the options, $IPFS_GATEWAY or ~/.ipfs/gateway", "flags.md#--ipfs-gateway"},
	{fetch.ReasonMailbox, fetch.ErrNotFound, "message 1@h.example: no mailbox to search", "",
		"flags.md#--mailbox"},
	{fetch.ReasonMailDraft, fetch.ErrNotRetrievable, "it is the mail address joe@h.example", "",
		"flags.md#--compose"},
	{fetch.ReasonForm, fetch.ErrNeedForm, "the form asks for 'Name'", "answer it", "forms.md"},
	{fetch.ReasonNameServer, fetch.ErrNetwork, "lookup h.example: no response from the name servers within 5s", "",
		"reliability.md"},
	{fetch.ReasonProxy, fetch.ErrPolicy, "the proxy does not support datagrams", "", "proxies.md"},
	{fetch.ReasonHostKey, fetch.ErrTLS, "the host key of h is unknown: SHA256:… (ssh-ed25519)",
		"verify the fingerprint with the server's administrator and add the key to a known_hosts file",
		"flags.md#--known-hosts"},
	{fetch.ReasonDirectory, fetch.ErrRefused, "it is a directory: https://h.example/x/", "", "schemes.md"},
	{fetch.ReasonIdentity, fetch.ErrAuth, "the server requires a client certificate", "", "tls.md"},
	{fetch.ReasonSSHLogin, fetch.ErrAuth, "the server rejected the login as joe", "", "logins.md"},
	{fetch.ReasonHostKeyChanged, fetch.ErrTLS,
		"the host key of h has changed: received SHA256:… (ssh-ed25519), expected SHA256:…",
		"this may be an attack; verify the fingerprint with the server's administrator " +
			"before you remove the old line from known_hosts", "flags.md#--known-hosts"},
	{fetch.ReasonNotBeginning, fetch.ErrChanged, "f is not the beginning of https://h.example/x", "",
		"flags.md#--continue"},
	{fetch.ReasonContradiction, fetch.ErrTruncated, "the response contradicts the 4096 bytes received before: …", "",
		"reliability.md"},
	{fetch.ReasonKeyExchange, fetch.ErrTLS, "the host key of h: …", "", "schemes.md"},
}

// A shownError is the text and the hint of an error.
type shownError struct{ what, text, hint, page string }

func messageOf(what string, e *fetch.Error, page string) shownError {
	e.URL = "https://h.example/x"
	return shownError{what, render.ErrorText(e), cmp.Or(hintOf(e), "-"), page}
}

// TestMessages compares the message and the hint of each class, reason and cause with
// testdata/messages, which is to be read as a whole, and with docs/messages.md. URLGET_WRITE=1 writes both.
func TestMessages(t *testing.T) {
	t.Parallel()
	byClass, byReason, byCause := classMessages(), reasonMessages(), causeMessages()
	var b strings.Builder
	for _, m := range slices.Concat(byClass, byReason, byCause) {
		fmt.Fprintf(&b, "%-32s %s\n%-32s hint: %s\n", m.what, m.text, "", m.hint)
	}
	compareOrWrite(t, "testdata/messages", b.String())
	compareOrWrite(t, "../../docs/messages.md", messagesPage(byClass, byReason, byCause))
}

func compareOrWrite(t *testing.T, name, text string) {
	t.Helper()
	if os.Getenv("URLGET_WRITE") != "" {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil || string(want) != text {
		t.Errorf("%v: to update %s, run URLGET_WRITE=1 go test ./cmd/urlget\n%s", err, name, text)
	}
}

const messagesHead = `# Messages

A failure is a line with the URL, the class of the error, the cause, and the words of the server in
parentheses. A second line has a hint:

    urlget: https://h.example/x: authentication failed (401 Unauthorized)
    hint: use -u USER to log in

To find a message, search this page for its words, without the names of hosts and files. h.example and x-s
are examples. With "--json", "class" has the name of the class, and "exit" the exit status.

## Exit status

| status | meaning |
|---|---|
| 0 | all retrieved, or not modified |
| 1 | any other error; also, with "-nc", "-O" names an existing file |
| 2 | usage error, malformed URL |
| 3 | local file error |
| 4 | network failure: name, connection, timeout |
| 5 | TLS failure, or an SSH host key that does not match |
| 6 | authentication failure |
| 7 | protocol violation by the server |
| 8 | the server refused: not found, forbidden, error, busy |
| 16 | not retrievable: unknown scheme, mailto, a session without a terminal or input, a search without words |
| 17 | refused by policy; urlget sent nothing |
| 18 | incomplete, changed during the transfer, checksum mismatch, larger than "--max-size" |
| 130 | interrupted |

If several URLs fail, the first failure in argument order sets the status.

## Classes

| message | class | exit | meaning | see |
|---|---|--:|---|---|
`

func messagesPage(byClass, byReason, byCause []shownError) string {
	var b strings.Builder
	b.WriteString(strings.ReplaceAll(messagesHead, `"`, "`"))
	link := func(page string) string {
		name, _, _ := strings.Cut(page, "#")
		return "[" + name + "](" + page + ")"
	}
	for i, m := range byClass {
		c := classes[i]
		fmt.Fprintf(&b, "| %s | `%s` | %d | %s | %s |\n",
			m.text, string(c.code), job.ExitStatus(c.code), c.meaning, link(c.page))
	}
	for _, part := range []struct {
		title string
		rows  []shownError
	}{{"Causes that the library knows", byReason}, {"Causes from the system and from TLS", byCause}} {
		fmt.Fprintf(&b, "\n## %s\n\n| message | hint | see |\n|---|---|---|\n", part.title)
		for _, m := range part.rows {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", strings.TrimRight(m.text, ": "), m.hint, link(m.page))
		}
	}
	return b.String()
}

func classMessages() (list []shownError) {
	for _, c := range classes {
		list = append(list, messageOf(string(c.code), &fetch.Error{Code: c.code}, c.page))
	}
	return list
}

func reasonMessages() (list []shownError) {
	for _, r := range reasonRows {
		reason := fetch.Reason{Kind: r.kind, Port: 25, Scheme: "x-s", Host: "h", File: "f"}
		if r.kind == fetch.ReasonGateway {
			reason.Scheme = "ipfs" // the flag has its name
		}
		list = append(list, messageOf("reason "+string(r.kind),
			&fetch.Error{Code: r.code, Err: errors.New(r.text), Hint: r.hint, Reason: reason}, r.page))
	}
	return list
}

func causeMessages() (list []shownError) {
	alert := func(code tls.AlertError) error { return &net.OpError{Op: "remote error", Err: code} }
	file := func(err error) error { return &fs.PathError{Op: "open", Path: "f", Err: err} }
	for _, cause := range []struct {
		code fetch.Code
		err  error
		page string
	}{
		{fetch.ErrTLS, x509.CertificateInvalidError{Reason: x509.Expired}, "tls.md"},
		{fetch.ErrTLS, x509.UnknownAuthorityError{}, "tls.md"},
		{fetch.ErrTLS, tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, "tls.md"},
		{fetch.ErrTLS, alert(40), "tls.md"}, {fetch.ErrTLS, alert(42), "tls.md"},
		{fetch.ErrTLS, alert(48), "tls.md"}, {fetch.ErrTLS, alert(70), "tls.md"},
		{fetch.ErrTLS, alert(116), "tls.md"},
		{fetch.ErrNetwork, &net.DNSError{Err: "no such host", Name: "h.example"}, "flags.md#--resolve"},
		{fetch.ErrNetwork, os.NewSyscallError("connect", syscall.ECONNREFUSED), "faq.md"},
		{fetch.ErrNetwork, os.NewSyscallError("connect", syscall.ENETUNREACH), "flags.md#--inet4-only"},
		{fetch.ErrNetwork, errors.New("no complete response within 2s"), "flags.md#--timeout"},
		{fetch.ErrFile, crawl.ErrInUse, "mirror.md"},
		{fetch.ErrFile, file(syscall.ENOSPC), "flags.md#--directory-prefix"},
		{fetch.ErrFile, file(syscall.ENOENT), "configuration.md"},
		{fetch.ErrProtocol, errors.New(`malformed reply: "SSH-2.0-OpenSSH_9.2"`), "schemes.md"},
	} {
		list = append(list, messageOf("cause of "+string(cause.code),
			&fetch.Error{Code: cause.code, Err: cause.err}, cause.page))
	}
	return list
}
