package lab

import (
	"fmt"
	"strings"
)

// The newsgroups of the news servers. On INN, GroupPrivate requires a login. sn has neither logins
// nor GroupPrivate.
const (
	Group        = "test.urlget"
	GroupOther   = "test.other"
	GroupEmpty   = "test.empty"
	GroupPrivate = "test.private"
)

// An Article is an article of the news servers. Its text is a file of the fixture tree with LF line
// ends. A news server sends it with CR LF, a longer Path and an Xref. The body is unchanged.
type Article struct {
	MessageID string   // with angle brackets
	Groups    []string // groups that contain it
	File      File
}

// Articles returns the articles of the fixture tree in the order in which they were posted. In
// [Group] their numbers are ascending, from 1 on INN and from 10 on sn.
func Articles() []Article {
	byName := map[string]File{}
	for _, f := range Fixture() {
		byName[f.Name] = f
	}
	list := make([]Article, len(articles))
	for i, a := range articles {
		list[i] = Article{a.id, strings.Split(a.groups, ","), byName[articleName(i)]}
	}
	return list
}

func articleName(i int) string { return fmt.Sprintf("%s/%03d.eml", NewsDir, i+1) }

type article struct {
	id, groups, subject string
	header              string // further lines, each with its line end
	body                string
}

func (a article) text() string {
	return "Path: lab.invalid!not-for-mail\n" +
		"From: Lab Tester <tester@lab.invalid>\n" +
		"Newsgroups: " + a.groups + "\n" +
		"Subject: " + a.subject + "\n" +
		"Date: Sat, 29 Feb 2020 12:34:56 +0000\n" +
		"Message-ID: " + a.id + "\n" +
		a.header + "\n" + a.body
}

const mimeHeader = "MIME-Version: 1.0\nContent-Type: "

var articles = []article{
	{id: "<plain@lab.invalid>", groups: Group, subject: "A plain article",
		body: "Hello, news.\n"},
	{id: "<dots@lab.invalid>", groups: Group, subject: "Lines that begin with dots",
		body: "..two dots\n.one dot\n.\n..\n...\nthe end\n"},
	{id: "<reply@lab.invalid>", groups: Group + "," + GroupOther, subject: "Re: A plain article",
		header: "References: <plain@lab.invalid>\n",
		body:   "> Hello, news.\n\nHello yourself.\n"},
	{id: "<utf8@lab.invalid>", groups: Group, subject: "=?UTF-8?Q?Gr=C3=BC=C3=9Fe?=",
		header: mimeHeader + "text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n",
		body:   "Grüße aus dem Labor.\n"},
	{id: "<latin1@lab.invalid>", groups: Group, subject: "Latin-1 bytes",
		header: mimeHeader + "text/plain; charset=ISO-8859-1\nContent-Transfer-Encoding: 8bit\n",
		body:   "caf\xe9 cr\xe8me\n"},
	{id: "<mime@lab.invalid>", groups: Group, subject: "An article in parts",
		header: mimeHeader + "multipart/mixed; boundary=\"=_lab\"\n",
		body: "--=_lab\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: " +
			"quoted-printable\n\n" +
			"Gr=C3=BC=C3=9Fe\n" +
			"--=_lab\nContent-Type: application/octet-stream; name=octets.bin\nContent-ID: " +
			"<octets@lab.invalid>\n" +
			"Content-Transfer-Encoding: base64\n\nAAECA/79/P8=\n--=_lab--\n"},
	{id: "<a/b%c+d&e$f@lab.invalid>", groups: GroupOther,
		subject: "A message-id that is hard to put into a URL",
		body:    "Hard to name.\n"},
	{id: "<long@lab.invalid>", groups: GroupOther, subject: "A long article",
		body: strings.Repeat("All work and no play makes a long article of it.\n", 4000)},
	{id: "<private@lab.invalid>", groups: GroupPrivate, subject: "For those who have authenticated",
		body: "The password is public, though.\n"},
}
