package lab

// slapd serves the entries of config/lab.ldif, dc=lab,dc=test. The bind DN is
// cn=labuser,dc=lab,dc=test. The plain port supports STARTTLS.
var slapd = &service{
	name: "slapd",
	ports: []port{
		{name: "plain", published: 28180, greeting: greeting{send: ldapSearch, want: "urlget lab"}},
		{name: "tls", published: 28181, greeting: greeting{tls: true, send: ldapSearch, want: "urlget lab"}},
	},
	accounts: true,
	programs: []string{"slapd", "slapadd"},
	start: func(p *process) error {
		p.owner = nobody
		if err := p.mkdir("ldap", 0o755); err != nil {
			return err
		}
		if err := p.chown("ldap", nobody); err != nil {
			return err
		}
		if err := p.config("slapd.conf", "lab.ldif"); err != nil {
			return err
		}
		if err := p.run("", "slapadd", "-f", "@DIR@/slapd.conf", "-l", "@DIR@/lab.ldif"); err != nil {
			return err
		}
		return p.spawn("slapd", "-f", "@DIR@/slapd.conf", "-d", "0",
			"-h", "ldap://@HOST@:@PORT_PLAIN@/ ldaps://@HOST@:@PORT_TLS@/")
	},
}

// ldapSearch requests the attribute o of the top entry (RFC 4511, section 4.5.1). It is a
// SearchRequest with message ID 1, base dc=lab,dc=test, scope baseObject, neverDerefAliases, no
// limits and the filter (objectClass=*).
const ldapSearch = "\x30\x33\x02\x01\x01\x63\x2e" +
	"\x04\x0edc=lab,dc=test" + "\x0a\x01\x00" + "\x0a\x01\x00" + "\x02\x01\x00" + "\x02\x01\x00" +
	"\x01\x01\x00" +
	"\x87\x0bobjectClass" + "\x30\x00"
