package protocols_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/nntp"
	"github.com/urlget/urlget/protocols/sftp"
)

// schemesPage is made of the schemes as they are registered and of what follows here.
const schemesPage = "../docs/schemes.md"

// An example is a URL and what it names.
type example struct{ url, what string }

// families are the schemes that retrieve, in groups that share the form of their URLs.
var families = []struct {
	schemes  string // the first is that of the title
	rfcs     string
	examples []example
	login    string
	note     string
}{
	{schemes: "http https", rfcs: "RFC 9110", login: "Basic and Digest, from the URL, flags, netrc or a prompt", examples: []example{
		{"https://example.org/a/page?q=x", "a page"}}},
	{schemes: "ftp ftps", rfcs: "RFC 1738, section 3.2; RFC 959, 3659, 4217", login: "anonymous, if nobody says otherwise", examples: []example{
		{"ftp://ftp.example/pub/README", "a file"},
		{"ftp://ftp.example/pub/", "a directory"},
		{"ftp://joe@ftp.example/%2Fetc/motd;type=a", "a file by its path from the root, as text"}}},
	{schemes: "sftp scp", rfcs: "draft-ietf-secsh-filexfer-02", login: "agent, keys, password; what `~/.ssh/config` says of the host", examples: []example{
		{"sftp://joe@host.example/srv/file", "a file by its path from the root"},
		{"sftp://joe@host.example/~/notes", "a file in the home directory"}}},
	{schemes: "smb", rfcs: "[MS-SMB2]", login: "NTLM; a guest only by the user guest, without a password; every message is signed, or encrypted if the server demands it", examples: []example{
		{"smb://host.example/", "the shares"},
		{"smb://joe@host.example/share/dir/", "a directory"},
		{"smb://domain;joe@host.example/share/file", "a file, for a user of a domain"}}},
	{schemes: "tftp", rfcs: "RFC 3617, 1350, 2347 to 2349, 7440", examples: []example{
		{"tftp://host.example/boot/kernel", "a file"}}},
	{schemes: "gopher gophers", rfcs: "RFC 4266, 1436", examples: []example{
		{"gopher://gopher.example/", "the first menu"},
		{"gopher://gopher.example/0/about.txt", "a text"},
		{"gopher://gopher.example/7/search%09words", "a search"}}},
	{schemes: "gemini", rfcs: "the specification of Gemini", login: "a client certificate; that of the server is remembered", examples: []example{
		{"gemini://gemini.example/page", "a page"},
		{"gemini://gemini.example/search?two%20words", "the answer to a question"}}},
	{schemes: "spartan", rfcs: "the specification of Spartan, of 2021-03-24", examples: []example{
		{"spartan://spartan.example/page", "a page"},
		{"spartan://spartan.example/guestbook?two%20words", "the answer to a text that is sent"}},
		note: "The query is the text to send, decoded; where a page asks for one (`=:`), `urlget ls` shows a search. URLs that others supply may not send lines of text."},
	{schemes: "nex", rfcs: "the specification of Nex", examples: []example{
		{"nex://nex.example/", "the directory that the server begins with"},
		{"nex://nex.example/notes/today.txt", "a document, whose name says what it is"}},
		note: "There are no statuses: what is missing is a text like others, with which `urlget` ends well."},
	{schemes: "imap imaps", rfcs: "RFC 5092, 3501, 4959, 5530", login: "a user and a password, by SASL PLAIN or LOGIN; without TLS only with `--allow-plaintext-login`", examples: []example{
		{"imap://joe@mail.example/", "the mailboxes"},
		{"imap://joe@mail.example/INBOX", "the messages of a mailbox"},
		{"imap://joe@mail.example/INBOX?SUBJECT%20invoice", "those that a search finds"},
		{"imap://joe@mail.example/INBOX;UIDVALIDITY=385759045/;UID=20", "a message"},
		{"imap://joe@mail.example/INBOX/;UID=20/;SECTION=1.2", "a part of it"},
		{"imap://joe@mail.example/INBOX/;UID=20/;PARTIAL=0.1024", "its first kilobyte"},
		{"imap://joe;AUTH=PLAIN@mail.example/INBOX", "a mailbox, with the way to log in"}},
		note: "Nothing is changed by reading: messages do not count as seen. A message whose mailbox has another `UIDVALIDITY` by now is not found."},
	{schemes: "pop pops pop3 pop3s", rfcs: "RFC 2384, 1939, 2449, 2595, 5034", login: "a user and a password, by APOP, SASL PLAIN or USER; without TLS by APOP alone, but with `--allow-plaintext-login`", examples: []example{
		{"pop://joe@mail.example/", "the messages of a maildrop"},
		{"pop://joe@mail.example/;UID=whqtswO00WBw418f9t5JxYwZ", "a message by its unique-id"},
		{"pop://joe@mail.example/3", "the same by its number"},
		{"pop://joe;AUTH=+APOP@mail.example/", "a maildrop, with the way to log in"}},
		note: "No message is deleted, and no session ends by QUIT, with which servers would carry out what they do to messages that were read."},
	{schemes: "news nntp snews nntps", rfcs: "RFC 5538, 1738, 3977", login: "when the server asks, under TLS if it has it", examples: []example{
		{"news:comp.lang.go", "a newsgroup of the default server"},
		{"news://news.example/1@host.example", "an article"},
		{"nntp://news.example/comp.lang.go/12", "an article by its number"}}},
	{schemes: "ldap ldaps", rfcs: "RFC 4516, 4511", login: "a bind with the user and password of the URL, flags or netrc", examples: []example{
		{"ldap://directory.example/dc=example?cn?sub?(cn=A*)", "a search"}}},
	{schemes: "dict", rfcs: "RFC 2229", examples: []example{{"dict://dict.example/d:word", "definitions of a word"}}},
	{schemes: "finger", rfcs: "RFC 1288", examples: []example{{"finger://host.example/joe", "what a machine tells of a user"}}},
	{schemes: "whois", rfcs: "RFC 3912", examples: []example{{"whois://whois.example/example.org", "who holds a domain"}}},
	{schemes: "cso", rfcs: "RFC 2378", examples: []example{{"cso://ns.example/smith", "a search of a directory of people"}}},
	{schemes: "wais", rfcs: "RFC 1738, section 3.9; RFC 1625", examples: []example{{"wais://wais.example/db?words", "a search of a database"}}},
	{schemes: "z39.50s z39.50r", rfcs: "RFC 2056; ISO 23950, version 3", login: "only if the server rejects the session without one, and only with `--allow-plaintext-login`, as the protocol has no TLS", examples: []example{
		{"z39.50s://library.example/", "the databases of a server, if it has an Explain database"},
		{"z39.50s://library.example/books?two+words", "the records that have both, to list; if there are none, the document with that docid"},
		{"z39.50s://library.example/books?@attr+1=4+tree", "a query in prefix notation: those with the word in the title"},
		{"z39.50s://library.example/books?two+words;item=3", "the third of those records"},
		{"z39.50r://library.example/books?10234", "a document by its docid"},
		{"z39.50r://library.example:2100/books+maps?10234;esn=F;rs=xml+marc", "one of two databases, with element set and record syntax"}},
		note: "A database without a query is there to be listed: `urlget ls` has its words. " +
			"A record comes as MARC21 if the server has it so, or else as XML or as text (SUTRS), or in the syntax of `rs=` or `--view`; " +
			"what comes is not changed, but `--view text` shows the fields of MARC where a server has no text. " +
			"A docid is sought by the attributes of RFC 2056, and as a local number where the server does not know them; if several records have it, none is retrieved. " +
			"The parameter `item` is our own; it counts in the result as it is now."},
	{schemes: "prospero", rfcs: "RFC 1738, section 3.11", examples: []example{{"prospero://host.example//pub/file", "a file"}}},
	{schemes: "ni", rfcs: "RFC 6920", examples: []example{
		{"ni://example.com/sha-256;f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk", "content by its digest"}},
		note: "The content comes by https from `/.well-known/ni/` of the authority, and is an error at its end if it does not have the digest. A name without an authority is not retrieved."},
	{schemes: "data", rfcs: "RFC 2397", examples: []example{{"data:,hello", "the text itself"}}},
	{schemes: "file", rfcs: "RFC 8089", examples: []example{{"file:///etc/motd", "a file of this machine"}}},
	{schemes: "nfs", rfcs: "RFC 2224, 2054, 1813, 5531, 4506, 1833", login: "the number of a user, by `--nfs-user`; else nobody", examples: []example{
		{"nfs://host.example/", "the public directory, or what the server exports"},
		{"nfs://host.example/export/file", "a file of it, or of an export by its path"},
		{"nfs://host.example//export/file", "a file by its path from the root of the server"},
		{"nfs://host.example:12049/export/dir/", "a directory, at another port"}},
		note: "The public file handle is tried first, then MOUNT: at the port of NFS, at `--nfs-mount-port`, or where the port mapper says. Symbolic links are followed as long as they stay within the export. Programs with the right to do so connect from a reserved port, as many servers want. Where the server is of no help and the file system is mounted, the file is read from there."},
	{schemes: "afs", rfcs: "RFC 1738, section 4", examples: []example{{"afs://cell.example/file", "a file of a file system that is mounted"}}},
	{schemes: "mid cid", rfcs: "RFC 2392", examples: []example{
		{"mid:1@host.example", "a message in the mailboxes of `--mailbox`, or else in news"},
		{"cid:2@host.example", "a part of one"}}},
}

// TestExamplesOfEveryScheme parses and explains an example of every scheme that retrieves, and
// holds the page about them to that.
func TestExamplesOfEveryScheme(t *testing.T) {
	t.Parallel()
	c := fetch.New(nil, protocols.With(protocols.Config{NNTP: &nntp.Options{Server: "news.example"}, SFTP: &sftp.Options{NoConfig: true}}))
	defer c.Close()
	var b strings.Builder
	b.WriteString(schemesHead)
	seen := make(map[string]bool)
	for _, f := range families {
		names := strings.Fields(f.schemes)
		fmt.Fprintf(&b, "\n## %s\n\n", strings.Join(names, ", "))
		for _, name := range names {
			s, ok := c.Scheme(name)
			if !ok || s.State() != driver.StateRetrieves || seen[name] {
				t.Errorf("%s is none that retrieves, or is there twice", name)
			}
			seen[name] = true
			fmt.Fprintf(&b, "- `%s`: %s; %s\n", name, s.Summary, abilities(s))
		}
		b.WriteString("\n| URL | names |\n|---|---|\n")
		for _, e := range f.examples {
			u, err := uri.Parse(e.url)
			if err != nil || !slices.Contains(names, u.Scheme()) {
				t.Errorf("%s: %v, or an example of another scheme", e.url, err)
				continue
			}
			x, err := c.Explain(&fetch.Request{URL: u})
			if s, _ := c.Scheme(u.Scheme()); !s.Local && (err != nil || x.Refused != nil) { // what is local depends on the machine
				t.Errorf("%s: %v, %v", e.url, err, x)
			}
			fmt.Fprintf(&b, "| `%s` | %s |\n", e.url, e.what)
		}
		b.WriteString("\n")
		if f.login != "" {
			fmt.Fprintf(&b, "Login: %s.\n", f.login)
		}
		if f.note != "" {
			b.WriteString(f.note + "\n")
		}
		fmt.Fprintf(&b, "After %s.\n", f.rfcs)
	}
	for _, s := range c.Schemes() {
		if s.State() == driver.StateRetrieves && !seen[s.Name] {
			t.Errorf("%s retrieves, and has no example", s.Name)
		}
	}
	if os.Getenv("URLGET_WRITE") != "" {
		if err := os.WriteFile(schemesPage, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(schemesPage); err != nil || string(text) != b.String() {
		t.Errorf("docs/schemes.md is not as the schemes are (%v); this writes it: URLGET_WRITE=1 go test ./protocols", err)
	}
}

// abilities says what can be done with the URLs of a scheme.
func abilities(s fetch.Scheme) string {
	var ops []string
	for _, op := range s.Ops {
		ops = append(ops, op.String())
	}
	text := strings.Join(ops, ", ")
	if s.Port != 0 {
		text = fmt.Sprintf("port %d; %s", s.Port, text)
	}
	if s.Ranges {
		text += ", ranges"
	}
	return text
}

const schemesHead = `# Schemes

What the URLs of each scheme that retrieves look like. ` + "`urlget explain URL`" + ` says
what would be done for one, ` + "`urlget schemes`" + ` lists them all, and
[limits.md](limits.md) says what is bounded. A test explains each example here.

The names ` + "`doi:`, `hdl:` and `urn:ietf:rfc:`" + ` are retrieved by the command from their
public resolvers; ` + "`--gateway`" + ` names others, and ` + "`--no-default-gateways`" + ` none.
`
