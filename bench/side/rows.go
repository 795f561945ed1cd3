//go:build linux

package main

import "cmp"

// A row is a task for several programs.
type row struct {
	work  string
	needs string   // missing server or file; "" if nothing is missing
	dir   string   // directory for the files
	times int      // runs of a program per round
	files int      // minimum number of files after a run; 0 for one
	ours  []string // command and arguments
	peak  float64  // target for the peak memory in MiB; 0 for none
	peers []peer
	// before returns a command to run before a program, in the same directory and uncounted. It may
	// be nil.
	before func(program []string) []string
}

// itself is for rows whose programs run once before they are measured.
func itself(program []string) []string { return program }

// A peer is another program. Wall and cpu are targets: at most this fraction of its wall time and
// CPU time. 0 means none.
type peer struct {
	name      string // if it is not that of the program
	args      []string
	wall, cpu float64
}

// against returns a peer with a target for the wall time, or 0.
func against(wall float64, args ...string) peer { return peer{args: args, wall: wall} }

// label returns the name of the program in the table.
func (p peer) label() string { return cmp.Or(p.name, p.args[0]) }

// programs holds the commands to measure and the directories in memory and on disk.
type programs struct{ urlget, queue, memory, disk string }

func (p programs) ours(args ...string) []string { return append([]string{p.urlget, "-q"}, args...) }

// one returns the programs that retrieve one URL. The targets are relative to curl.
func (s *site) one(wall, cpu float64, url string) []peer {
	return []peer{
		{args: []string{"curl", "-s", "--cacert", s.cert, "-o", "out", url}, wall: wall, cpu: cpu},
		against(0, "wget", "-q", "--ca-certificate", s.cert, "-O", "out", url),
		against(0, "wget2", "-q", "--ca-certificate", s.cert, "-O", "out", url),
		against(0, "aria2c", "-q", "--ca-certificate", s.cert, "-o", "out", url),
	}
}

// parallel returns curl with a list and parallel transfers.
func (s *site) parallel(wall float64, atOnce string, l list) peer {
	return against(wall, "curl", "-s", "--cacert", s.cert, "-Z", "--parallel-max", atOnce, "-K", l.curl)
}

// missing returns the names of missing servers for rows over HTTP and FTP.
func (s *site) missing() (web, files string) {
	if s.http == "" {
		web = "nginx"
	}
	if s.ftp == "" {
		files = "vsftpd"
	}
	return web, files
}

// nearRows returns the rows with servers on this machine.
func (p programs) nearRows(s *site) []row {
	trusted := func(args ...string) []string {
		return p.ours(append([]string{"--ca-certificate", s.cert, "-O", "out"}, args...)...)
	}
	web, files := s.missing()
	tree := s.ftp + "/tree/"
	mirror := p.ours("-m", "-j", "8", "--per-host", "8", tree)
	lftp := []string{"lftp", "-c", "mirror -P8 " + tree + " ."}
	listed := func(work, dir string) row {
		return row{work: work, needs: web, dir: dir, files: many,
			ours: p.ours("-j", "8", "--per-host", "8", "-i", s.httpList.urls),
			peers: []peer{s.parallel(0.9, "50", s.httpList),
				against(0, "wget2", "-q", "-i", s.httpList.urls)}}
	}
	return []row{
		{work: "HTTP, 1 GiB to memory", needs: web, dir: p.memory, ours: trusted(s.http + "/large"),
			peers: s.one(0.60, 0.65, s.http+"/large")},
		{work: "HTTP, 1 GiB to disk", needs: web, dir: p.disk, ours: trusted(s.http + "/large"),
			peers: s.one(0.55, 0, s.http+"/large")},
		{work: "HTTPS, 1 GiB", needs: web, dir: p.memory, ours: trusted(s.https + "/large"),
			peers: s.one(0.92, 0, s.https+"/large")},
		{work: "HTTPS, 1 GiB by HTTP/2", needs: web, dir: p.memory,
			ours: trusted("--http2", s.https+"/large"),
			peers: []peer{against(1, "curl", "-s", "--http2", "--cacert", s.cert, "-o", "out",
				s.https+"/large")}},
		{work: "FTP, 1 GiB", needs: files, dir: p.memory, ours: p.ours("-O", "out", s.ftp+"/large"),
			peers: []peer{against(0.70, "curl", "-s", "-o", "out", s.ftp+"/large"),
				against(0, "wget", "-q", "-O", "out", s.ftp+"/large")}},
		{work: "HTTP, 20 MiB at 1 MiB/s a connection, 16 segments", needs: web, dir: p.memory,
			ours: trusted("-s", "16", s.http+"/slow/limited"),
			peers: []peer{against(1, "aria2c", "-q", "-x16", "-s16", "-k1M", "-o", "out",
				s.http+"/slow/limited")}},
		{work: "HTTP, 10 bytes, 20 times", needs: web, dir: p.memory, times: 20,
			ours: trusted(s.http + "/small"), peak: 12, peers: s.one(0.70, 0, s.http+"/small")},
		{work: "HTTPS, 10 bytes, 20 times", needs: web, dir: p.memory, times: 20,
			ours: trusted(s.https + "/small"), peak: 12, peers: s.one(0.70, 0, s.https+"/small")},
		{work: "HTTP, 5,000 files of 4 KiB, one at a time", needs: web, dir: p.memory, files: many,
			ours: p.ours("-j", "1", "-i", s.httpList.urls),
			peers: []peer{against(1, "curl", "-s", "-K", s.httpList.curl),
				against(0, "wget", "-q", "-i", s.httpList.urls),
				against(0, "wget2", "-q", "--max-threads=1", "-i", s.httpList.urls)}},
		listed("HTTP, 5,000 files of 4 KiB to memory", p.memory),
		listed("HTTP, 5,000 files of 4 KiB to disk", p.disk),
		{work: "HTTP, 5,000 files of 4 KiB, no flags", needs: web, dir: p.memory, files: many,
			ours:  p.ours("-i", s.httpList.urls),
			peers: []peer{s.parallel(0.9, "50", s.httpList)}},
		{work: "HTTP, 5,000 files of 4 KiB, recorded in a WARC file", needs: web, dir: p.memory, files: many,
			ours:  p.ours("-i", s.httpList.urls, "--warc", "archive"),
			peers: []peer{{name: "urlget without --warc", args: p.ours("-i", s.httpList.urls), wall: 1.25}}},
		{work: "HTTPS, 5,000 files of 4 KiB, no flags", needs: web, dir: p.memory, files: many,
			ours:  p.ours("--ca-certificate", s.cert, "-i", s.httpsList.urls),
			peers: []peer{s.parallel(1, "50", s.httpsList)}},
		{work: "FTP, 5,000 files of 4 KiB, no flags", needs: files, dir: p.memory, files: many,
			ours:  p.ours("-i", s.ftpList.urls),
			peers: []peer{s.parallel(0.6, "8", s.ftpList)}},
		{work: "HTTPS, 5,000 files of 4 KiB", needs: web, dir: p.memory, files: many,
			ours: p.ours("--ca-certificate", s.cert, "-j", "16", "-i", s.httpsList.urls),
			peers: []peer{s.parallel(1, "50", s.httpsList),
				against(1, "wget2", "-q", "--ca-certificate", s.cert, "-i", s.httpsList.urls)}},
		{work: "FTP, 5,000 files of 4 KiB", needs: files, dir: p.memory, files: many,
			ours:  p.ours("-j", "4", "--per-host", "4", "-i", s.ftpList.urls),
			peers: []peer{s.parallel(0.6, "8", s.ftpList)}},
		{work: "HTTP, tree of 2,001 linked pages", needs: web, dir: p.memory, files: pages,
			ours: p.ours("-r", "-j", "5", "--per-host", "5", s.http+"/pages/index.html"),
			peers: []peer{against(0.8, "wget2", "-q", "-r", "--max-threads=5", s.http+"/pages/index.html"),
				against(0, "wget", "-q", "-r", s.http+"/pages/index.html")}},
		{work: "HTTPS, 5,000 pages of 40 links on 200 hosts, no flags", needs: web, dir: p.memory,
			files: webHosts * webPages, ours: p.ours("--ca-certificate", s.cert, "-r", "-i", s.webList),
			peers: []peer{{args: []string{"wget2", "-q", "--ca-certificate", s.cert, "-r", "-i", s.webList},
				wall: 1, cpu: 1}}},
		{work: "FTP, mirror of 10,000 files of 1 KiB", needs: files, dir: p.memory, files: dirs * dirs,
			ours: mirror, peers: []peer{against(0.6, lftp...)}},
		{work: "FTP, the same mirror again", needs: files, dir: p.memory, files: dirs * dirs, before: itself,
			ours: mirror, peers: []peer{against(0.3, lftp...)}},
		{work: "FTP, 200 files of 4 KiB, no flags", needs: files, dir: p.memory, files: few,
			ours: p.ours("--glob-ranges", s.ftp+"/many/[0000-0199]"),
			peers: []peer{against(0.7, "curl", "-s", "-Z", "--parallel-max", "8", "--remote-name-all",
				s.ftp+"/many/[0000-0199]")}},
	}
}

// archiveRows returns the rows that read an archive of 5,000 responses.
func (p programs) archiveRows(s *site) []row {
	web, _ := s.missing()
	record := func([]string) []string { return p.ours("-i", s.httpList.urls, "--warc", "archive") }
	read := func(work string, wall float64, ours, warcio []string) row {
		const archive = "archive.warc.gz"
		return row{work: work, needs: web, dir: p.memory, before: record, ours: append(ours, archive),
			peers: []peer{against(wall, append(warcio, archive)...), against(0, "gzip", "-t", archive)}}
	}
	return []row{
		read("WARC, listing 5,000 responses", 0.35, []string{p.urlget, "ls"}, []string{"warcio", "index"}),
		read("WARC, verifying 5,000 responses", 0.35, []string{p.urlget, "warc", "verify"},
			[]string{"warcio", "check"}),
	}
}

// queueRows returns the row that compares the jobs of a queue with a list.
func (p programs) queueRows(s *site) []row {
	web, _ := s.missing()
	const queue = "queue" // its directory
	submit := func(program []string) []string {
		if program[0] != p.queue {
			return nil
		}
		return []string{p.queue, "submit", "-q", "--embedded", queue, "-i", s.httpList.urls}
	}
	transfers := []string{"-j", "12", "--per-host", "12"}
	work := append([]string{p.queue, "work", "--embedded", queue, "--until-empty", "--allow-private",
		"--artefacts", "kept"}, transfers...)
	list := p.ours(append(transfers, "-i", s.httpList.urls)...)
	return []row{
		{work: "HTTP, 5,000 files of 4 KiB as jobs of a queue, with its server", needs: web, dir: p.memory,
			files: many, before: submit, ours: work,
			peers: []peer{{name: "urlget -i", args: list, cpu: 1.5}}},
	}
}

// distantRows returns the rows with servers 50 ms away.
func (p programs) distantRows(s *site) []row {
	web, files := s.missing()
	return []row{
		{work: "HTTP, 200 files of 4 KiB, 50 ms away", needs: web, dir: p.memory, files: few,
			ours:  p.ours("-j", "50", "--per-host", "50", "-i", s.httpList.urls),
			peers: []peer{s.parallel(1, "50", s.httpList)}},
		{work: "HTTP, 200 files of 4 KiB, 50 ms away, no flags", needs: web, dir: p.memory, files: few,
			ours:  p.ours("-i", s.httpList.urls),
			peers: []peer{s.parallel(1.2, "50", s.httpList)}},
		{work: "HTTP, 51 linked pages, 50 ms away, no flags", needs: web, dir: p.memory, files: 1 + sections,
			ours: p.ours("-r", "-l", "1", s.http+"/pages/index.html"),
			peers: []peer{against(1, "wget2", "-q", "-r", "-l", "1", "--max-threads=20",
				s.http+"/pages/index.html")}},
		{work: "FTP, 200 files of 4 KiB, 50 ms away, no flags", needs: files, dir: p.memory, files: few,
			ours:  p.ours("-i", s.ftpList.urls),
			peers: []peer{s.parallel(0.5, "8", s.ftpList)}},
		{work: "FTP, 200 files of 4 KiB, 50 ms away", needs: files, dir: p.memory, files: few,
			ours:  p.ours("-j", "16", "--per-host", "16", "-i", s.ftpList.urls),
			peers: []peer{s.parallel(0.35, "8", s.ftpList)}},
	}
}
