BEGIN TRANSACTION;
CREATE TABLE accounts (
	id INTEGER NOT NULL, 
	name VARCHAR(255) NOT NULL, 
	instructor BOOLEAN NOT NULL, 
	token_hash VARCHAR(64), 
	PRIMARY KEY (id), 
	UNIQUE (name), 
	UNIQUE (token_hash)
);
INSERT INTO "accounts" VALUES(1,'prof',1,'eca8473ceb17f500f1a552cbd3810f5c135b3846e9e118c85b0ac361327671b4');
INSERT INTO "accounts" VALUES(2,'ada',0,'6f2816cc925a9670c1dd155943c8f5eae55930e27a29c911b6722534ea64a419');
INSERT INTO "accounts" VALUES(3,'ben',0,'9a6476621a2545bec8dcc50ff071117ed735ae512bf64524717cee06b18ca9e5');
CREATE TABLE entries (
	id INTEGER NOT NULL, 
	round_id INTEGER NOT NULL, 
	place INTEGER NOT NULL, 
	name VARCHAR(255) NOT NULL, 
	anchor BOOLEAN NOT NULL, 
	submission_id INTEGER, 
	digest VARCHAR(64) NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (round_id, place), 
	FOREIGN KEY(round_id) REFERENCES rounds (id), 
	FOREIGN KEY(submission_id) REFERENCES submissions (id)
);
INSERT INTO "entries" VALUES(1,1,0,'random',1,NULL,'random');
INSERT INTO "entries" VALUES(2,1,1,'ada',0,3,'a2');
INSERT INTO "entries" VALUES(3,1,2,'ben',0,2,'b1');
CREATE TABLE matches (
	id INTEGER NOT NULL, 
	round_id INTEGER NOT NULL, 
	first_id INTEGER NOT NULL, 
	second_id INTEGER NOT NULL, 
	block INTEGER NOT NULL, 
	played BOOLEAN NOT NULL, 
	wins INTEGER, 
	draws INTEGER, 
	losses INTEGER, 
	replay BLOB, 
	PRIMARY KEY (id), 
	UNIQUE (round_id, first_id, second_id, block), 
	FOREIGN KEY(round_id) REFERENCES rounds (id), 
	FOREIGN KEY(first_id) REFERENCES entries (id), 
	FOREIGN KEY(second_id) REFERENCES entries (id)
);
INSERT INTO "matches" VALUES(1,1,1,2,0,1,16,8,8,X'1F8B0800000000000203ABAE050043BFA6A302000000');
INSERT INTO "matches" VALUES(2,1,1,3,0,1,16,8,8,X'1F8B0800000000000203ABAE050043BFA6A302000000');
INSERT INTO "matches" VALUES(3,1,2,3,0,1,16,8,8,X'1F8B0800000000000203ABAE050043BFA6A302000000');
CREATE TABLE rounds (
	id INTEGER NOT NULL, 
	title VARCHAR(80) NOT NULL, 
	drill VARCHAR(40) NOT NULL, 
	rules_hash VARCHAR(64) NOT NULL, 
	anchors TEXT NOT NULL, 
	blocks INTEGER NOT NULL, 
	publish BOOLEAN NOT NULL, 
	state VARCHAR(10) NOT NULL, 
	secret VARCHAR(32) NOT NULL, 
	opened VARCHAR(20) NOT NULL, 
	closed VARCHAR(20), 
	PRIMARY KEY (id)
);
INSERT INTO "rounds" VALUES(1,'Week 1','ball','0123456789abcdef','["random"]',1,1,'finished','a22f4449ee0282045d6ba59dce841119','2026-11-25 03:44:53','2026-11-25 03:44:53');
INSERT INTO "rounds" VALUES(2,'Week 2','ball','0123456789abcdef','["random"]',1,0,'open','2c4c2243357b63121667e3536af27651','2026-11-25 03:44:53',NULL);
CREATE TABLE settings (
	"key" VARCHAR(40) NOT NULL, 
	value TEXT, 
	PRIMARY KEY ("key")
);
INSERT INTO "settings" VALUES('cookie_secret','17bcbd435b8ba5cd51765fb119891c25c865418fa1d27094edee537b7fea259f');
CREATE TABLE submissions (
	id INTEGER NOT NULL, 
	round_id INTEGER NOT NULL, 
	account_id INTEGER NOT NULL, 
	received VARCHAR(20) NOT NULL, 
	version BIGINT NOT NULL, 
	step BIGINT NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	content BLOB NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(round_id) REFERENCES rounds (id), 
	FOREIGN KEY(account_id) REFERENCES accounts (id)
);
INSERT INTO "submissions" VALUES(1,1,2,'2026-11-25 03:44:53',1,1000,'a1',X'636F6E74656E74206131');
INSERT INTO "submissions" VALUES(2,1,3,'2026-11-25 03:44:53',1,1000,'b1',X'636F6E74656E74206231');
INSERT INTO "submissions" VALUES(3,1,2,'2026-11-25 03:44:53',1,1000,'a2',X'636F6E74656E74206132');
INSERT INTO "submissions" VALUES(4,2,2,'2026-11-25 03:44:53',2,2000,'a3',X'636F6E74656E74206133');
INSERT INTO "submissions" VALUES(5,2,2,'2026-11-25 03:44:53',2,2000,'a4',X'636F6E74656E74206134');
INSERT INTO "submissions" VALUES(6,2,3,'2026-11-25 03:44:53',2,2000,'b2',X'636F6E74656E74206232');
CREATE INDEX ix_submissions_account_id ON submissions (account_id);
CREATE INDEX ix_submissions_round_id ON submissions (round_id);
CREATE INDEX ix_matches_played ON matches (played);
COMMIT;
