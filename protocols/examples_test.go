package protocols_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/ipfs"
	"github.com/urlget/urlget/protocols/nntp"
	"github.com/urlget/urlget/protocols/sftp"
)

// schemesPage is generated from the registered schemes and the examples below.
const schemesPage = "../docs/schemes.md"

// An example is a URL and the resource it names.
type example struct{ url, what string }

// families are the retrievable schemes, in groups with the same form of URLs.
var families = []struct {
	schemes  string // the first is that of the title
	rfcs     string
	examples []example
	login    string
	note     string
}{
	{schemes: "http https", rfcs: "RFC 9110", login: "Basic and Digest, from the URL, flags, netrc or a prompt", examples: []example{
		{"https://example.org/a/page?q=x", "a page"}},
		note: "`urlget ls` lists the links of a page, and `ls -R` also the subdirectories in an index page of a server. If a URL that ends in a slash has none, and its server announces WebDAV (RFC 4918), it lists the directory.\n" +
			"A content coding that was not requested is removed from HTML, XHTML and CSS.\n" +
			"Over HTTP/2, a malformed Content-Length is ignored: the frames delimit the body."},
	{schemes: "dav davs webdav webdavs", rfcs: "RFC 4918", login: "as for http", examples: []example{
		{"davs://cloud.example/share/", "a directory"},
		{"davs://joe@cloud.example/share/report.pdf", "a file"},
		{"dav://host.example:8080/share/", "a directory, without TLS"}},
		note: "The requests are those of http and https; directories are listed by PROPFIND. The names are those of GNOME (dav, davs) and KDE (webdav, webdavs). " +
			"A URL of a directory ends in a slash; without it, urlget asks the server if GET shows no file. Requests through an HTTP proxy are tunnelled."},
	{schemes: "ftp ftps", rfcs: "RFC 1738, section 3.2; RFC 959, 3659, 4217", login: "anonymous by default", examples: []example{
		{"ftp://ftp.example/pub/README", "a file"},
		{"ftp://ftp.example/pub/", "a directory"},
		{"ftp://joe@ftp.example/%2Fetc/motd;type=a", "a file by its path from the root, as text"}}},
	{schemes: "sftp scp", rfcs: "draft-ietf-secsh-filexfer-02", login: "agent, keys, also with a certificate in `KEY-cert.pub`, password; with the hosts, users, keys and algorithms of `~/.ssh/config`", examples: []example{
		{"sftp://joe@host.example/srv/file", "a file by its path from the root"},
		{"sftp://joe@host.example/~/notes", "a file in the home directory"}},
		note: "Stored passwords answer prompts for a password only; other prompts, such as those for a code, are shown in the terminal. " +
			"The settings read are HostName, Port, User, ProxyJump, Include, IdentityFile, IdentityAgent, IdentitiesOnly, CertificateFile, KexAlgorithms, Ciphers, MACs, HostKeyAlgorithms and PubkeyAcceptedAlgorithms. " +
			"All algorithms that are considered secure are offered by default, except diffie-hellman-group18-sha512 and UMAC, which are not implemented. " +
			"SFTP has the versions 2 and 3; versions 4 to 6 have other attributes and are refused."},
	{schemes: "smb", rfcs: "[MS-SMB2]", login: "NTLM; as a guest only with the user guest and no password; messages are signed, or encrypted if the server requires it", examples: []example{
		{"smb://host.example/", "the shares"},
		{"smb://joe@host.example/share/dir/", "a directory"},
		{"smb://domain;joe@host.example/share/file", "a file, for a user of a domain"}},
		note: "Paths in a DFS namespace lead to the server that has the files, like a redirect: with its own login, and if the policy permits the server. Symbolic links on the server are not followed."},
	{schemes: "rsync", rfcs: "RFC 5781; protocol versions 27 to 31 of rsync", login: "with a user name, if the module requires a login; the password is not sent, only a digest of it and of the server's challenge", examples: []example{
		{"rsync://host.example/", "the modules"},
		{"rsync://host.example/module/dir/", "a directory"},
		{"rsync://joe@host.example:8730/module/file", "a file, with a login, at another port"}},
		note: "Each file and each directory has a connection of its own, because a session of the protocol ends with its transfer. " +
			"A file is complete if the checksum that the server sends is right. Transfers cannot begin within a file, so an interrupted download starts again. " +
			"urlget sends no parts of files that it has, but a mirror requests only files whose size or time has changed. " +
			"The server follows symbolic links; a listing shows their targets. The protocol has no TLS."},
	{schemes: "s3", rfcs: "Amazon S3 REST API", login: "access keys as in the AWS command line: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`, or the profile `AWS_PROFILE` in `~/.aws/credentials` and `~/.aws/config`; `-u KEY:SECRET`; else anonymous", examples: []example{
		{"s3://bucket/dir/object", "an object"},
		{"s3://bucket/dir/", "the objects and directories whose keys begin with `dir/`"},
		{"s3://bucket/object?versionId=ID", "a version of an object"}},
		note: "Keys are percent-encoded. A key that ends with a slash is written with `%2F`. The store is Amazon S3, or that of `--s3-endpoint`, `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL` or `endpoint_url` of the profile, with the bucket in the path. " +
			"The region is `AWS_REGION`, `AWS_DEFAULT_REGION`, that of the profile, or us-east-1; urlget follows the store to the region of a bucket. " +
			"Requests are signed with AWS Signature Version 4. Links in the pages of others use neither the keys nor the profile. " +
			"Profiles of roles, SSO and credential processes are refused: `eval \"$(aws configure export-credentials --format env)\"` makes variables of their keys. " +
			"urlget compares the content with the checksum of the whole object, or with the entity tag if that is an MD5: not for uploads in parts or with keys of KMS or of the customer. " +
			"`-H 'x-amz-request-payer: requester'` is sent and signed."},
	{schemes: "tftp", rfcs: "RFC 3617, 1350, 2347 to 2349, 7440", examples: []example{
		{"tftp://host.example/boot/kernel", "a file"}}},
	{schemes: "gopher gophers", rfcs: "RFC 4266, 1436", examples: []example{
		{"gopher://gopher.example/", "the first menu"},
		{"gopher://gopher.example/0/about.txt", "a text"},
		{"gopher://gopher.example/7/search%09words", "a search"}}},
	{schemes: "gemini", rfcs: "Gemini", login: "a client certificate; urlget remembers the certificate of the server", examples: []example{
		{"gemini://gemini.example/page", "a page"},
		{"gemini://gemini.example/search?two%20words", "the response to an input"}}},
	{schemes: "spartan", rfcs: "Spartan, 2021-03-24", examples: []example{
		{"spartan://spartan.example/page", "a page"},
		{"spartan://spartan.example/guestbook?two%20words", "the response to a text"}},
		note: "urlget sends the decoded query as text. `urlget ls` shows the input lines of a page (`=:`) as searches. URLs from remote parties may not send lines of text."},
	{schemes: "nex", rfcs: "Nex", examples: []example{
		{"nex://nex.example/", "the top directory"},
		{"nex://nex.example/notes/today.txt", "a document; its name determines the media type"}},
		note: "Nex has no status codes. A missing document is a text like others, and urlget exits with status 0."},
	{schemes: "imap imaps", rfcs: "RFC 5092, 3501, 4959, 5530", login: "a user and a password, by SASL PLAIN or LOGIN; without TLS only with `--allow-plaintext-login`", examples: []example{
		{"imap://joe@mail.example/", "the mailboxes"},
		{"imap://joe@mail.example/INBOX", "the messages of a mailbox"},
		{"imap://joe@mail.example/INBOX?SUBJECT%20invoice", "the messages that a search finds"},
		{"imap://joe@mail.example/INBOX;UIDVALIDITY=385759045/;UID=20", "a message"},
		{"imap://joe@mail.example/INBOX/;UID=20/;SECTION=1.2", "a part of it"},
		{"imap://joe@mail.example/INBOX/;UID=20/;PARTIAL=0.1024", "its first kilobyte"},
		{"imap://joe;AUTH=PLAIN@mail.example/INBOX", "a mailbox, with a login method"}},
		note: "Reading changes nothing: messages are not marked as seen. A message is not found if the `UIDVALIDITY` of its mailbox has changed."},
	{schemes: "pop pops pop3 pop3s", rfcs: "RFC 2384, 1939, 2449, 2595, 5034", login: "a user and a password, by APOP, SASL PLAIN or USER; without TLS only by APOP, unless `--allow-plaintext-login` is given", examples: []example{
		{"pop://joe@mail.example/", "the messages of a maildrop"},
		{"pop://joe@mail.example/;UID=whqtswO00WBw418f9t5JxYwZ", "a message by its unique-id"},
		{"pop://joe@mail.example/3", "the same message by its number"},
		{"pop://joe;AUTH=+APOP@mail.example/", "a maildrop, with a login method"}},
		note: "urlget deletes no message. It does not send QUIT, because a server may then delete or mark the messages that were read."},
	{schemes: "news nntp snews nntps", rfcs: "RFC 5538, 1738, 3977", login: "if the server requires one, over TLS if the server supports it", examples: []example{
		{"news:comp.lang.go", "a newsgroup of the default server"},
		{"news://news.example/1@host.example", "an article"},
		{"nntp://news.example/comp.lang.go/12", "an article by its number"}}},
	{schemes: "ldap ldaps", rfcs: "RFC 4516, 4511", login: "a bind with the user and password of the URL, flags or netrc", examples: []example{
		{"ldap://directory.example/dc=example?cn?sub?(cn=A*)", "a search"}},
		note: "Searches are requested in pages (RFC 2696), and the values that Active Directory returns in ranges are complete. " +
			"A server without pages that limits the entries of a search returns a part of them, which is an error."},
	{schemes: "dict", rfcs: "RFC 2229", examples: []example{{"dict://dict.example/d:word", "definitions of a word"}}},
	{schemes: "finger", rfcs: "RFC 1288", examples: []example{{"finger://host.example/joe", "information about a user"}}},
	{schemes: "whois", rfcs: "RFC 3912", examples: []example{{"whois://whois.example/example.org", "the holder of a domain"}},
		note: "Referrals to servers of whois and RWhois are followed. Domains are sent in ASCII."},
	{schemes: "cso", rfcs: "RFC 2378", examples: []example{{"cso://ns.example/smith", "a search of a directory of people"}}},
	{schemes: "wais", rfcs: "RFC 1738, section 3.9; RFC 1625", examples: []example{{"wais://wais.example/db?words", "a search of a database"}}},
	{schemes: "z39.50s z39.50r", rfcs: "RFC 2056; ISO 23950, version 3", login: "only if the server rejects the session without one, and only with `--allow-plaintext-login`, because the protocol has no TLS", examples: []example{
		{"z39.50s://library.example/", "the databases of a server, if it has an Explain database"},
		{"z39.50s://library.example/books?two+words", "a listing of the records with both words; without a match, the document with that docid"},
		{"z39.50s://library.example/books?@attr+1=4+tree", "a query in prefix notation: records with the word in the title"},
		{"z39.50s://library.example/books?two+words;item=3", "the third of those records"},
		{"z39.50r://library.example/books?10234", "a document by its docid"},
		{"z39.50r://library.example:2100/books+maps?10234;esn=F;rs=xml+marc", "one of two databases, with element set and record syntax"}},
		note: "A database without a query is a listing: `urlget ls` prints its words. " +
			"A record is MARC21 if the server has it, else XML or text (SUTRS), or the syntax of `rs=` or `--view`. " +
			"urlget does not change it, except that `--view text` prints the MARC fields if the server has no text. " +
			"urlget searches a docid by the attributes of RFC 2056, and as a local number if the server does not know them. If several records match, it retrieves none. " +
			"The parameter `item` is specific to urlget: a position in the current result."},
	{schemes: "prospero", rfcs: "RFC 1738, section 3.11", examples: []example{{"prospero://host.example//pub/file", "a file"}},
		note: "`urlget ls` shows the members of a union link instead of the link. A directory that is saved with `-O FILE` has the links as the server sent them. A member whose name has a line break is listed, but has no URL."},
	{schemes: "ni", rfcs: "RFC 6920", examples: []example{
		{"ni://example.com/sha-256;f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk", "a body by its digest"}},
		note: "urlget retrieves the body over https from `/.well-known/ni/` of the authority. The body ends with an error if its digest is wrong. A name without an authority is not retrievable."},
	{schemes: "ipfs ipns", rfcs: "UnixFS; Trustless Gateway; IPNS Record; DNSLink", login: "none; that of the gateway is in its URL", examples: []example{
		{"ipfs://bafybeiczsscdsbs7ffqz55asqdf3smv6klcw3gofszvwlyarci47bgf354/", "a directory by its CID"},
		{"ipfs://bafybeiczsscdsbs7ffqz55asqdf3smv6klcw3gofszvwlyarci47bgf354/docs/file.txt", "a file in it"},
		{"ipfs://bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku", "a file by its CID"},
		{"ipns://k51qzi5uqu5dkkciu33khkzbcmxtyhn376i1e83tya8kuy7z9euedzyr5nhoew/", "what the owner of a key publishes"},
		{"ipns://host.example/docs/", "a directory of a domain with a DNSLink"}},
		note: "The gateway is that of `--ipfs-gateway`, `$IPFS_GATEWAY` or `~/.ipfs/gateway`; there is no default. It is not trusted: urlget retrieves blocks, verifies each with its CID, and resolves paths itself. " +
			"It reads blocks with the codecs raw and dag-pb and the hash functions sha2-256, blake2b-256 and identity. Names are keys (Ed25519, RSA, ECDSA), whose signed records come from the gateway and are verified, or domains, whose TXT records urlget looks up; the latter not with a proxy. An old record is valid until it expires. The size of a small file in a listing is as stated by the author of the directory. " +
			"With `--gateway ipfs=URL` a gateway serves whole files instead, which are not verified."},
	{schemes: "data", rfcs: "RFC 2397", examples: []example{{"data:,hello", "the text itself"}}},
	{schemes: "file", rfcs: "RFC 8089", examples: []example{{"file:///etc/motd", "a file of this machine"}},
		note: "Files that the kernel generates, as in `/proc` and `/sys`, are read to their end. One that waits for events, such as `/proc/kmsg`, ends with an error if nothing comes within `--read-timeout`. Devices and pipes have no timeout."},
	{schemes: "nfs", rfcs: "RFC 2224, 2054, 1813, 5531, 4506, 1833", login: "the user number of `--nfs-user`; default nobody", examples: []example{
		{"nfs://host.example/", "the public directory, or the exports of the server"},
		{"nfs://host.example/export/file", "a file of the public directory, or of an export by its path"},
		{"nfs://host.example//export/file", "a file by its path from the root of the server"},
		{"nfs://host.example:12049/export/dir/", "a directory, at another port"}},
		note: "urlget tries the public file handle first, then MOUNT: at the NFS port, at `--nfs-mount-port`, or at the port from the port mapper. It follows symbolic links within the export. With the necessary rights it connects from a reserved port, because many servers require one. If the server fails and the file system is mounted, urlget reads the file from there."},
	{schemes: "afs", rfcs: "RFC 1738, section 4", examples: []example{{"afs://cell.example/file", "a file of a mounted file system"}}},
	{schemes: "mid cid", rfcs: "RFC 2392", examples: []example{
		{"mid:1@host.example", "a message in the mailboxes of `--mailbox`, else in news"},
		{"cid:2@host.example", "a part of a message"}}},
}

// TestExamplesOfEveryScheme parses and explains an example of every retrievable scheme, and
// compares the page about them.
func TestExamplesOfEveryScheme(t *testing.T) {
	t.Parallel()
	c := fetch.New(nil, protocols.With(protocols.Config{IPFS: &ipfs.Options{Gateway: "http://gateway.example"}, NNTP: &nntp.Options{Server: "news.example"}, SFTP: &sftp.Options{NoConfig: true}}))
	defer c.Close()
	var b strings.Builder
	b.WriteString(schemesHead + describe(c.Schemes()) + schemesTail)
	seen := make(map[string]bool)
	for _, f := range families {
		names := strings.Fields(f.schemes)
		fmt.Fprintf(&b, "\n## %s\n\n", strings.Join(names, ", "))
		for _, name := range names {
			s, ok := c.Scheme(name)
			if !ok || !s.Retrieves() || seen[name] {
				t.Errorf("%s is none that retrieves, or is there twice", name)
			}
			seen[name] = true
			fmt.Fprintf(&b, "- `%s`: %s; %s\n", name, s.Summary, abilities(s))
		}
		b.WriteString("\n| URL | resource |\n|---|---|\n")
		for _, e := range f.examples {
			u, err := uri.Parse(e.url)
			if err != nil || !slices.Contains(names, u.Scheme()) {
				t.Errorf("%s: %v, or an example of another scheme", e.url, err)
				continue
			}
			x, err := c.Explain(&fetch.Request{URL: u})
			if s, _ := c.Scheme(u.Scheme()); !s.Local && (err != nil || x.Refused != nil) { // local resources depend on the machine
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
		fmt.Fprintf(&b, "Specification: %s.\n", f.rfcs)
	}
	for _, s := range c.Schemes() {
		if s.Retrieves() && !seen[s.Name] {
			t.Errorf("%s retrieves, and has no example", s.Name)
		}
	}
	others, err := os.ReadFile("testdata/otherprograms.md")
	if err != nil {
		t.Fatal(err)
	}
	b.Write(others)
	if os.Getenv("URLGET_WRITE") != "" {
		if err := os.WriteFile(schemesPage, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(schemesPage); err != nil || string(text) != b.String() {
		t.Errorf("docs/schemes.md is not as the schemes are (%v); this writes it: URLGET_WRITE=1 go test ./protocols", err)
	}
}

// abilities describes the operations of a scheme.
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

This page has examples of URLs for each retrievable scheme. A test runs ` + "`urlget explain`" + ` on
each example. ` + "`urlget explain URL`" + ` shows the requests for a URL, and [limits.md](limits.md) lists
the limits of each protocol.

    $ urlget explain ftp://user@ftp.example/%2Fetc/motd
    ftp://user@ftp.example/%2Fetc/motd
      scheme:       ftp
      user:         user
      host:         ftp.example
      path:         /%2Fetc/motd
      driver:       ftp
      operation:    get
      address:      ftp.example:21
      credentials:  URL (user name only)
      policy:       allowed
      output:       motd
      step 1:       USER user
      step 2:       PASS ****
      ...

urlget resolves the names ` + "`doi:`, `hdl:` and `urn:ietf:rfc:`" + ` with their public resolvers.
` + "`--gateway`" + ` sets other resolvers, ` + "`--no-default-gateways`" + ` turns them off.

## All schemes

`

const schemesTail = `
` + "`urlget schemes`" + ` prints this table with the other names. ` + "`--gateway wais=http://gateway.example/wais/`" + `
maps a scheme to a gateway.
`
