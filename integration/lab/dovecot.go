package lab

import (
	"os"
	"path/filepath"
)

// dovecot serves mail over POP3 and IMAP, each with STARTTLS and with TLS from the start. The mail
// of [User] is the articles of the tree. The mail of user NAME, with the same password, is in
// mail/NAME. Over POP3, the unique-id of a message is its file name.
var dovecot = &service{
	name: "dovecot",
	ports: []port{
		{name: "pop", published: 28200, greeting: greeting{want: "+OK Dovecot"}},
		{name: "pops", published: 28201, greeting: greeting{tls: true, want: "+OK Dovecot"}},
		{name: "imap", published: 28202, greeting: greeting{want: "* OK [CAPABILITY"}},
		{name: "imaps", published: 28203, greeting: greeting{tls: true, want: "* OK [CAPABILITY"}},
	},
	accounts: true,
	programs: []string{"dovecot"},
	asRoot:   true, // to become the owner of the mail
	start: func(p *process) error {
		if err := p.mkdir("run", 0o755); err != nil {
			return err
		}
		// Glob only fails for a malformed pattern.
		mail, _ := filepath.Glob(filepath.Join(p.root, MailDir, "*", "*.eml"))
		news, _ := filepath.Glob(filepath.Join(p.root, NewsDir, "*.eml"))
		for _, path := range append(mail, news...) {
			user := filepath.Base(filepath.Dir(path))
			if filepath.Dir(path) == filepath.Join(p.root, NewsDir) {
				user = User
			}
			if err := p.deliver(user, path); err != nil {
				return err
			}
		}
		if err := p.chown("mail", nobody); err != nil {
			return err
		}
		if err := p.config("dovecot.conf"); err != nil {
			return err
		}
		return p.spawn("dovecot", "-F", "-c", "@DIR@/dovecot.conf")
	},
}

// MailDir is the folder with the mail of users, below the folder passed to [StartRoot].
const MailDir = "mail"

// deliver copies a file into a user's Maildir as new mail.
func (p *process) deliver(user, path string) error {
	for _, dir := range []string{"cur", "new", "tmp"} {
		if err := p.mkdir(filepath.Join("mail", user, dir), 0o755); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return p.write(filepath.Join("mail", user, "new", filepath.Base(path)), text, 0o644)
}
