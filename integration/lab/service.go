package lab

// A service is one row of the lab's table: a server and how to start it.
type service struct {
	name      string
	container string // its name in docker-compose.yml, if not name
	ports     []port
	accounts  bool     // it knows User and Password
	programs  []string // what it runs, found by find
	asRoot    bool     // as a child process it works for root only
	mounts    bool     // as a child process it needs a mount namespace, see useAccounts
	withholds []string // the files of the fixture tree that it refuses to serve
	start     func(*process) error
}

// A port is one port of a service.
type port struct {
	name      string // by which tests ask for it
	published int    // compose: the port on 127.0.0.1
	direct    int    // compose: in place of that, the port on the container's own address
	sameAs    string // the name of the port before it whose number it shares
	greeting  greeting
}

// number returns the port's number within docker-compose.
func (p port) number() int {
	if p.direct != 0 {
		return p.direct
	}
	return p.published
}

// services is the table, one file for each row.
var services = []*service{
	vsftpd,
	proftpd,
	pureFTPd,
	pyftpdlib,
	openssh,
	ganesha,
	samba,
	sambaVariants,
	nginx,
	gophernicus,
	mollyBrown,
	pygopherd,
	dovecot,
	inn,
	sn,
	telnetd,
	rlogind,
	hercules,
	fingerd,
	whois,
	dictd,
	slapd,
	ztest,
	zebra,
	tinyproxy,
	squid,
	microsocks,
	tftpdHPA,
	atftpd,
	waisd,
	prosperod,
}
